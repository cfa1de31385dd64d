//! Where the server's data and socket are: in folders that its account owns and can reach.

use std::env;
use std::fs::{self, DirBuilder, Permissions};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::Error;
use crate::account::Account;

/// The longest socket path that every supported system takes: macOS has 104 bytes with the closing zero, Linux 108.
const SOCKET_PATH_BYTES_MAX: usize = 103;
/// What the server appends to its socket folder.
const SOCKET_NAME: &str = ".s.PGSQL.5432";

/// The folder that holds the server's data, log and, where its path is short enough, socket.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    pub(crate) path: PathBuf,
    /// Whether it is not under the folder that was asked for, because the account cannot reach that.
    pub(crate) relocated: bool,
}

impl Home {
    pub(crate) fn data(&self) -> PathBuf {
        self.path.join("data")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.path.join("postgres.log")
    }

    /// Makes the home under `root`, or where the account can reach it.
    ///
    /// The place depends on nothing but the root's path, so that the next start finds the data again; its owner is the
    /// account, also where root would drop to another one now.
    pub(crate) fn prepare(root: &Path, account: Account) -> Result<(Self, Account), Error> {
        let mut tried = Vec::new();
        let elsewhere = state_folder(account).map(|state| state.join(short_hash(root)).join("postgres"));
        let candidates = [(Some(root.join("postgres")), false), (elsewhere, true)];
        for (path, relocated) in candidates {
            let Some(path) = path else { continue };
            if relocated {
                make_reachable_parents(&path)?;
            }
            let account = account.or_owner_of(&path);
            match own_folder(&path, account) {
                Ok(true) if account.can_use(&path) => return Ok((Self { path, relocated }, account)),
                Err(error @ Error::ForeignOwner { .. }) => return Err(error),
                Ok(_) | Err(_) => {}
            }
            // A folder that was made in vain is empty; one with something in it stays.
            if fs::remove_dir(&path).is_err() {
                tracing::debug!(path = %path.display(), "an unusable folder stays behind");
            }
            tried.push(path);
        }
        Err(Error::NoPlace { account: account.user, tried })
    }

    /// Removes what is left of a throwaway server, best effort.
    pub(crate) fn remove(&self) {
        if let Err(error) = fs::remove_dir_all(&self.path) {
            tracing::debug!(%error, "the home of a throwaway server was removed already");
        }
    }
}

/// Makes a folder of mode 0700 that belongs to `account`. Answers whether it really has that owner and mode now: some
/// mounts ignore both.
pub(crate) fn own_folder(path: &Path, account: Account) -> Result<bool, Error> {
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) if account.dropped => {
            lchown(path, Some(account.user), Some(account.group)).map_err(Error::io("give away", path))?;
        }
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(Error::io("make the folder", path)(error)),
    }
    let found = fs::symlink_metadata(path).map_err(Error::io("look at", path))?;
    if found.is_dir() && found.uid() != account.user {
        return Err(Error::ForeignOwner { directory: path.to_owned(), owner: found.uid() });
    }
    Ok(found.is_dir() && found.mode() & 0o777 == 0o700)
}

/// Makes the folder that was asked for. For another account it must be passable, if it is made here.
pub(crate) fn make_root(root: &Path, account: Account) -> Result<(), Error> {
    if root.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(root).map_err(Error::io("make the folder", root))?;
    if account.dropped {
        fs::set_permissions(root, Permissions::from_mode(0o711)).map_err(Error::io("make passable", root))?;
    }
    Ok(())
}

/// The socket folder: in the home where the path is short enough, else in the system's temporary folder.
pub(crate) fn socket_folder(home: &Path, account: Account) -> Result<PathBuf, Error> {
    let inside = home.join("socket");
    if fits(&inside) {
        own_folder(&inside, account)?;
        return Ok(inside);
    }
    let mut tried = Vec::new();
    for parent in [env::temp_dir(), PathBuf::from("/tmp"), PathBuf::from("/dev/shm")] {
        // Anybody may have made a folder of the first name in a place open to all; then another name is taken.
        for attempt in 0..8_u8 {
            let path = parent.join(format!("tidemark-{}-{}{attempt}", account.user, short_hash(home)));
            if fits(&path) && own_folder(&path, account).is_ok_and(|owned| owned) && account.can_use(&path) {
                return Ok(path);
            }
            tried.push(path);
        }
    }
    Err(Error::NoPlace { account: account.user, tried })
}

/// Removes the socket and its lock file that a killed server left. The caller has made sure that no server runs.
pub(crate) fn empty_socket_folder(socket: &Path) -> Result<(), Error> {
    for entry in fs::read_dir(socket).map_err(Error::io("read", socket))?.flatten() {
        if entry.file_name().to_string_lossy().starts_with(SOCKET_NAME) {
            fs::remove_file(entry.path()).map_err(Error::io("remove", entry.path()))?;
        }
    }
    Ok(())
}

fn fits(folder: &Path) -> bool {
    folder.join(SOCKET_NAME).as_os_str().len() <= SOCKET_PATH_BYTES_MAX
}

/// Where a server's data is kept when it cannot be under the root that was asked for.
fn state_folder(account: Account) -> Option<PathBuf> {
    if account.dropped {
        return Some(PathBuf::from("/var/lib/tidemark"));
    }
    let folder = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    Some(folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")))?.join("tidemark"))
}

fn make_reachable_parents(path: &Path) -> Result<(), Error> {
    let Some(parent) = path.parent() else { return Ok(()) };
    fs::create_dir_all(parent).map_err(Error::io("make the folder", parent))?;
    for folder in [parent.parent(), Some(parent)].into_iter().flatten() {
        fs::set_permissions(folder, Permissions::from_mode(0o755)).map_err(Error::io("make passable", folder))?;
    }
    Ok(())
}

/// Twelve hexadecimal digits that stand for a path.
pub(crate) fn short_hash(path: &Path) -> String {
    let digest = Sha256::digest(path.as_os_str().as_bytes());
    digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_folder_with_a_long_home_is_short_and_closed_to_others() {
        let account = Account::choose().expect("there is an account");
        let home = PathBuf::from("/").join("long".repeat(40));
        let folder = socket_folder(&home, account).expect("the temporary folder is usable");
        assert!(fits(&folder));
        let found = fs::metadata(&folder).expect("it is there");
        assert_eq!((found.uid(), found.mode() & 0o777), (account.user, 0o700));
        assert_eq!(socket_folder(&home, account).expect("still usable"), folder);
        fs::remove_dir(folder).expect("it is empty");
    }

    #[test]
    fn a_folder_of_another_account_is_refused() {
        let account = Account { user: 65_432, group: 65_432, dropped: true };
        let error = own_folder(Path::new("/usr"), account).expect_err("it is root's");
        assert!(matches!(error, Error::ForeignOwner { owner: 0, .. }), "{error}");
    }
}
