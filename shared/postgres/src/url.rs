//! Addresses that libpq and tokio-postgres both understand.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

/// Unreserved characters stay as they are.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// `postgresql:///database?host=/folder&port=…&user=…`, percent-encoded.
pub(crate) fn socket(folder: &Path, port: u16, user: &str, database: &str) -> String {
    let escape = |bytes: &[u8]| percent_encode(bytes, ESCAPED).to_string();
    let (host, user, database) =
        (escape(folder.as_os_str().as_bytes()), escape(user.as_bytes()), escape(database.as_bytes()));
    format!("postgresql:///{database}?host={host}&port={port}&user={user}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio_postgres::config::{Config, Host};

    #[test]
    fn every_part_is_read_back_as_it_was_given() {
        let url = socket(Path::new("/tmp/a b&c"), 5432, "o'user?x", "data/base");
        let config: Config = url.parse().expect("the driver reads it");
        assert_eq!(config.get_hosts(), [Host::Unix("/tmp/a b&c".into())]);
        assert_eq!(config.get_user(), Some("o'user?x"));
        assert_eq!(config.get_dbname(), Some("data/base"));
        assert_eq!(config.get_ports(), [5432]);
    }
}
