//! The account that the server runs as: our own, or the one that root drops to.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::Error;

/// The account that owns the data and socket folders and runs `initdb` and `postgres`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) user: u32,
    pub(crate) group: u32,
    /// Whether this is another account than the one this process runs as.
    pub(crate) dropped: bool,
}

impl Account {
    /// Our own account; for root, the one who called sudo, else `postgres`, else `nobody`.
    pub(crate) fn choose() -> Result<Self, Error> {
        let user = rustix::process::geteuid();
        if !user.is_root() {
            let group = rustix::process::getegid().as_raw();
            return Ok(Self { user: user.as_raw(), group, dropped: false });
        }
        from_sudo().or_else(|| by_name("postgres")).or_else(|| by_name("nobody")).ok_or(Error::NoAccount)
    }

    /// For root: the account that already owns `folder`, so that data made by one account is not left to another.
    pub(crate) fn or_owner_of(self, folder: &Path) -> Self {
        match fs::symlink_metadata(folder) {
            Ok(found) if self.dropped && found.uid() != 0 => {
                Self { user: found.uid(), group: found.gid(), dropped: true }
            }
            _ => self,
        }
    }

    /// A command that runs as this account, in its own process group and without any `PG…` setting of ours.
    ///
    /// The process group keeps the terminal's Ctrl-C away from the server: this process drains first.
    pub(crate) fn command(self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with("PG")) {
                command.env_remove(name);
            }
        }
        command.env("LC_ALL", "C").stdin(Stdio::null()).process_group(0);
        if self.dropped {
            command.gid(self.group).uid(self.user);
        }
        command
    }

    /// Whether the account can enter `folder` and write in it. Asked by trying, because modes do not tell everything
    /// (access lists, network and container mounts).
    pub(crate) fn can_use(self, folder: &Path) -> bool {
        self.succeeds("cd -- \"$1\" && [ -w . ]", folder)
    }

    fn succeeds(self, script: &str, path: &Path) -> bool {
        self.command("/bin/sh")
            .args([OsStr::new("-c"), OsStr::new(script), OsStr::new("sh"), path.as_os_str()])
            .current_dir("/")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }
}

fn from_sudo() -> Option<Account> {
    let number = |name: &str| env::var(name).ok()?.parse::<u32>().ok();
    let user = number("SUDO_UID").filter(|&user| user != 0)?;
    Some(Account { user, group: number("SUDO_GID").unwrap_or(user), dropped: true })
}

/// Asks `id`, which knows directory services that `/etc/passwd` does not.
fn by_name(name: &str) -> Option<Account> {
    let number = |option: &str| {
        let output = Command::new("id").args([option, name]).stderr(Stdio::null()).output().ok()?;
        String::from_utf8(output.stdout).ok()?.trim().parse::<u32>().ok()
    };
    let user = number("-u").filter(|&user| user != 0)?;
    Some(Account { user, group: number("-g")?, dropped: true })
}
