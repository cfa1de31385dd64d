# Keeps one PostgreSQL server for exactly as long as somebody holds the writing end of a pipe.
#
# $1 own | shared   the pipe is standard input, or the named pipe `users`, which any number of processes may hold
# $2 ticks of 20 ms that a fast shutdown gets before the immediate one, once nobody holds the pipe; 0: none
# $3 ticks of 100 ms to stay after the last user of a shared server went
# $4 keep | remove  what becomes of the folder once nobody holds the pipe
# $5 the socket folder; the rest is the server's command. The working directory is the server's home.
mode=$1 grace=$2 linger=$3 leftovers=$4 socket=$5
shift 5
umask 077
if [ -f postgres.log ] && [ "$(wc -c <postgres.log)" -gt 10000000 ]; then mv -f postgres.log postgres.log.1; fi
if [ "$mode" = shared ]; then
    # Opening waits for the first user.
    mkfifo users && : >open && exec 3<users || exit 1
else
    exec 3<&0
fi
exec </dev/null

"$@" >>postgres.log 2>&1 3<&- &
server=$!
# The keeper drains first and then lets go of the pipe; a signal to the whole terminal must not be quicker.
trap '' HUP INT
trap 'kill -INT "$server"' TERM
echo "$server"
exec >/dev/null 2>&1

gone_within() {
    ticks=$1
    while kill -0 "$server"; do
        [ "$ticks" -gt 0 ] || return 1
        ticks=$((ticks - 1))
        sleep 0.02
    done
}

stop() {
    if [ "$grace" -gt 0 ]; then
        kill -INT "$server"
        gone_within "$grace" && return
    fi
    kill -QUIT "$server"
    gone_within 300 && return
    kill -KILL "$server"
    gone_within 300
}

remove() {
    rm -f open users
    rm -rf data postgres.log postgres.log.1
    # Not `-rf`: the folder may lie in the system's temporary folder, and only an empty one is ours to remove.
    rmdir "$socket"
}

(
    if [ "$mode" = shared ]; then
        # A user that comes writes a line, which starts the count anew.
        idle=0
        while :; do
            if read -r word <&3; then
                idle=0
            elif [ "$idle" -ge "$linger" ]; then
                break
            else
                idle=$((idle + 1))
                sleep 0.1
            fi
        done
        # From here on nobody new may come: a user takes hold of the pipe first and looks for this file then. Who saw the
        # file had hold of the pipe before it went, so the next loop waits for that one.
        rm -f open
        while read -r word <&3; do :; done
    else
        while read -r word <&3; do
            case $word in
            fast) kill -INT "$server" ;;
            immediate) kill -QUIT "$server" ;;
            esac
        done
    fi
    # The rest must not be cut short by the end of the server that it brings about.
    trap '' TERM
    stop
    if [ "$leftovers" = remove ]; then remove; fi
) &
watcher=$!

# The server is this shell's child, so that it is waited for the moment it ends and never stays a zombie.
while :; do
    wait "$server"
    outcome=$?
    kill -0 "$server" || break
done
kill -TERM "$watcher"
wait "$watcher"
if [ "$mode" = shared ]; then remove; fi
exit "$outcome"
