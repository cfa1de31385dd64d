//! A proxy before a server's socket that breaks connections at chosen places of the protocol.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tempfile::TempDir;
use tidemark_queue::Connect;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio_postgres::config::{Config, Host};

use crate::connector::SocketConnector;

/// Bytes read from a socket at a time.
const READ_SIZE: usize = 16 * 1024;

/// The server's last word to a session that an administrator ends: an error, fatal, 57P01.
const SESSION_ENDED: &[u8] = b"E\0\0\0\x21SFATAL\0VFATAL\0C57P01\0Mended\0\0";

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Toward {
    /// Requests.
    Server,
    /// Answers.
    Client,
}

/// What happens at a COMMIT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtCommit {
    /// Both sides are cut before the request goes on: the server never hears of it.
    CutRequest,
    /// The request goes on and both sides are cut at once: the server may still be committing when the client looks again.
    CutBehindRequest,
    /// Both sides are cut when the server has committed and its answer arrives.
    CutAnswer,
    /// The server has committed, and instead of its answer the client is told that an administrator ended the session (57P01).
    EndAnswer,
    /// The connection falls silent with the request inside until [`ChaosProxy::release`]; nobody learns of a close.
    HoldRequest,
    /// The connection falls silent with the answer inside until [`ChaosProxy::release`]; nobody learns of a close.
    HoldAnswer,
}

/// What the proxy does to its connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing: everything goes on as it comes.
    None,
    /// New connections are closed at once; those that stand are left alone.
    Refuse,
    /// Every piece is held back for so long.
    Delay(Duration),
    /// Cuts once, when so many bytes have passed in this direction since the fault was injected.
    CutAfter {
        /// The direction that is counted.
        toward: Toward,
        /// The last byte that still passes.
        bytes: usize,
    },
    /// Strikes once, at a COMMIT.
    Commit {
        /// COMMITs that pass unharmed before.
        skip: usize,
        /// What happens then.
        what: AtCommit,
    },
}

/// A proxy with one address of its own before one database.
///
/// Faults that strike once heal by themselves; the others last until the next [`ChaosProxy::inject`].
#[derive(Debug)]
pub struct ChaosProxy {
    folder: TempDir,
    user: String,
    database: String,
    port: u16,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    plan: Mutex<Plan>,
    strikes: watch::Sender<u32>,
    releases: watch::Sender<u32>,
}

/// The fault and what has passed since it was injected.
#[derive(Debug)]
struct Plan {
    fault: Fault,
    commits: usize,
    bytes: usize,
}

/// What to do with a piece of the conversation.
enum Verdict {
    Pass,
    /// Pass so many bytes, then cut.
    CutAt(usize),
    /// Pass this instead, then cut.
    Replace(&'static [u8]),
    /// Wait for a release, then pass.
    Hold,
}

impl ChaosProxy {
    /// Starts before the database of a libpq-style URL over a socket, with that URL's user.
    ///
    /// # Panics
    /// When the URL is of another kind or the socket cannot be made.
    #[must_use]
    pub fn start(url: &str) -> Self {
        let config: Config = url.parse().expect("a libpq-style URL");
        let [Host::Unix(server)] = config.get_hosts() else { panic!("the server listens on a socket") };
        let port = config.get_ports().first().copied().unwrap_or(5432);
        let folder = tempfile::tempdir().expect("the temporary folder is writable");
        let listener = UnixListener::bind(socket(folder.path(), port)).expect("a socket in a folder of our own");
        let shared = Arc::new(Shared {
            plan: Mutex::new(Plan { fault: Fault::None, commits: 0, bytes: 0 }),
            strikes: watch::Sender::new(0),
            releases: watch::Sender::new(0),
        });
        let accepting = tokio::spawn(accept(listener, socket(server, port), Arc::clone(&shared)));
        Self {
            folder,
            user: config.get_user().unwrap_or_default().to_owned(),
            database: config.get_dbname().unwrap_or_default().to_owned(),
            port,
            shared,
            accepting,
        }
    }

    /// The database's address through the proxy.
    #[must_use]
    pub fn url(&self) -> String {
        let (user, database, port) = (&self.user, &self.database, self.port);
        format!("postgresql:///{database}?host={}&port={port}&user={user}", self.folder.path().display())
    }

    /// Opens connections through the proxy.
    #[must_use]
    pub fn connector(&self) -> Arc<dyn Connect> {
        Arc::new(SocketConnector::new(self.url()))
    }

    /// From now on; replaces the fault before it, and counting begins anew.
    pub fn inject(&self, fault: Fault) {
        *self.shared.plan() = Plan { fault, commits: 0, bytes: 0 };
    }

    /// Lets held connections go on.
    pub fn release(&self) {
        self.shared.releases.send_modify(|count| *count += 1);
    }

    /// How often a fault that strikes once has struck.
    #[must_use]
    pub fn strikes(&self) -> u32 {
        *self.shared.strikes.borrow()
    }

    /// Waits until faults have struck `count` times in all.
    ///
    /// # Panics
    /// When they have not within ten seconds.
    pub async fn until_struck(&self, count: u32) {
        let mut strikes = self.shared.strikes.subscribe();
        let struck = strikes.wait_for(|strikes| *strikes >= count);
        tokio::time::timeout(Duration::from_secs(10), struck).await.expect("the fault strikes").expect("a proxy");
    }
}

impl Drop for ChaosProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Shared {
    /// A plan is whole after every change, so a panic elsewhere does not spoil it.
    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Judges a whole message. Whoever waits for the strike may act from here on.
    fn judge(&self, toward: Toward, message: &[u8], releases: &mut watch::Receiver<u32>) -> Verdict {
        let verdict = self.plan().judge(toward, message);
        if !matches!(verdict, Verdict::Pass) {
            releases.mark_unchanged();
            self.strikes.send_modify(|count| *count += 1);
        }
        verdict
    }
}

impl Plan {
    fn judge(&mut self, toward: Toward, message: &[u8]) -> Verdict {
        let verdict = match self.fault {
            Fault::CutAfter { toward: counted, bytes } if counted == toward => {
                let left = bytes.saturating_sub(self.bytes);
                self.bytes += message.len();
                if left < message.len() { Verdict::CutAt(left) } else { Verdict::Pass }
            }
            Fault::Commit { skip, what } if is_commit(toward, message) && what.toward() == toward => {
                self.commits += 1;
                if self.commits <= skip {
                    return Verdict::Pass;
                }
                match what {
                    AtCommit::CutRequest | AtCommit::CutAnswer => Verdict::CutAt(0),
                    AtCommit::CutBehindRequest => Verdict::CutAt(message.len()),
                    AtCommit::EndAnswer => Verdict::Replace(SESSION_ENDED),
                    AtCommit::HoldRequest | AtCommit::HoldAnswer => Verdict::Hold,
                }
            }
            _ => Verdict::Pass,
        };
        if !matches!(verdict, Verdict::Pass) {
            self.fault = Fault::None;
        }
        verdict
    }
}

impl AtCommit {
    fn toward(self) -> Toward {
        match self {
            Self::CutRequest | Self::CutBehindRequest | Self::HoldRequest => Toward::Server,
            Self::CutAnswer | Self::EndAnswer | Self::HoldAnswer => Toward::Client,
        }
    }
}

/// A simple query COMMIT, or the tag that answers it.
fn is_commit(toward: Toward, message: &[u8]) -> bool {
    let kind = match toward {
        Toward::Server => b'Q',
        Toward::Client => b'C',
    };
    message.first() == Some(&kind) && message.get(5..) == Some(b"COMMIT\0")
}

fn socket(folder: &Path, port: u16) -> PathBuf {
    folder.join(format!(".s.PGSQL.{port}"))
}

/// Serves connections until it is aborted, and all of them with it.
async fn accept(listener: UnixListener, server: PathBuf, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _address)) = listener.accept().await {
        if shared.plan().fault == Fault::Refuse {
            continue;
        }
        let (server, shared) = (server.clone(), Arc::clone(&shared));
        connections.spawn(async move {
            // A broken connection is what the proxy is for: both sides see it and nobody else needs to.
            let _broken = converse(client, &server, &shared).await;
        });
    }
}

/// Passes whole messages on in both directions until one side closes or a fault cuts.
async fn converse(mut client: UnixStream, server: &Path, shared: &Shared) -> io::Result<()> {
    let mut server = UnixStream::connect(server).await?;
    let mut releases = shared.releases.subscribe();
    let (mut requests, mut answers) = (Vec::new(), Vec::new());
    // The first message of a client has no type byte.
    let mut begun = false;
    loop {
        let mut read = [0; READ_SIZE];
        let mut reply = [0; READ_SIZE];
        let toward = tokio::select! {
            count = client.read(&mut read) => {
                let count = count?;
                requests.extend_from_slice(&read[..count]);
                if count == 0 { return Ok(()) }
                Toward::Server
            }
            count = server.read(&mut reply) => {
                let count = count?;
                answers.extend_from_slice(&reply[..count]);
                if count == 0 { return Ok(()) }
                Toward::Client
            }
        };
        let delay = match shared.plan().fault {
            Fault::Delay(delay) => delay,
            _ => Duration::ZERO,
        };
        tokio::time::sleep(delay).await;
        let (pending, target) = match toward {
            Toward::Server => (&mut requests, &mut server),
            Toward::Client => (&mut answers, &mut client),
        };
        let mut done = 0;
        while let Some(length) = message_length(&pending[done..], toward == Toward::Client || begun) {
            let message = &pending[done..done + length];
            begun |= toward == Toward::Server;
            match shared.judge(toward, message, &mut releases) {
                Verdict::Pass => target.write_all(message).await?,
                Verdict::CutAt(bytes) => return target.write_all(&message[..bytes]).await,
                Verdict::Replace(other) => return target.write_all(other).await,
                Verdict::Hold => {
                    // Ends with the proxy at the latest.
                    let _released = releases.changed().await;
                    target.write_all(message).await?;
                }
            }
            done += length;
        }
        pending.drain(..done);
    }
}

/// Length of the first message in `bytes`, if it is all there.
fn message_length(bytes: &[u8], typed: bool) -> Option<usize> {
    let prefix = usize::from(typed);
    let length: [u8; 4] = bytes.get(prefix..prefix + 4)?.try_into().ok()?;
    let length = prefix + usize::try_from(u32::from_be_bytes(length)).ok()?;
    (bytes.len() >= length).then_some(length)
}
