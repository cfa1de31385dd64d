//! Making a data folder with `initdb`.

use std::fs::{self, File};
use std::path::Path;

use crate::account::Account;
use crate::binaries::Binaries;
use crate::place::Home;
use crate::{Error, log};

/// Makes the cluster under a name of its own and renames it when it is whole; a start that was killed in between leaves
/// nothing that looks like data. `C.UTF-8` is not everywhere; `C` is.
const INITIALISE: &str = r#"
new=$1 sync=$2; shift 2
rm -rf data.new.*
"$@" --pgdata="$new" $sync --locale=C.UTF-8 || { rm -rf "$new"; "$@" --pgdata="$new" $sync --locale=C; } || exit 1
exec mv "$new" data
"#;

/// The major version that made the data folder; `None` where there is no cluster yet.
pub(crate) fn major_version(data: &Path) -> Option<u32> {
    fs::read_to_string(data.join("PG_VERSION")).ok()?.trim().parse().ok()
}

/// Runs `initdb`: superuser `postgres`, UTF-8, and trust on the socket, which only its folder's mode justifies.
pub(crate) fn initialise(home: &Home, account: Account, binaries: &Binaries, durable: bool) -> Result<(), Error> {
    let mut command = account.command("/bin/sh");
    command.args(["-c", INITIALISE, "sh", &format!("data.new.{}", std::process::id())]);
    command.arg(if durable { "" } else { "--no-sync" }).arg(binaries.program("initdb"));
    command.args(["--username=postgres", "--encoding=UTF8", "--auth-local=trust", "--auth-host=reject"]);
    let output = command.current_dir(&home.path).output().map_err(Error::io("run", binaries.program("initdb")))?;
    if !output.status.success() {
        return Err(Error::Initialise { output: log::last_lines(&String::from_utf8_lossy(&output.stderr)) });
    }
    if durable {
        // The rename itself must survive a power cut as well.
        let synced = File::open(&home.path).and_then(|folder| folder.sync_all());
        synced.map_err(Error::io("write to disk", &home.path))?;
    }
    Ok(())
}

/// Removes the data folder and whatever an interrupted `initdb` left.
pub(crate) fn wipe(home: &Home) -> Result<(), Error> {
    let data = home.data();
    match fs::remove_dir_all(&data) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", &data)(error)),
        _ => Ok(()),
    }
}
