//! Counts round trips between a client and the server, from outside both.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// A relay on a socket of its own. A round trip begins when the client asks although nothing it has asked is unanswered;
/// requests that travel together are one.
pub(crate) struct RoundTrips {
    counts: Arc<Counts>,
    folder: TempDir,
    user: String,
    database: String,
    port: u16,
}

#[derive(Default)]
struct Counts {
    round_trips: AtomicU64,
    unanswered: AtomicI64,
}

impl RoundTrips {
    /// A relay to the server of this URL.
    pub(crate) async fn listen(url: &str) -> Self {
        let config: Config = url.parse().expect("the URL is one");
        let port = config.get_ports()[0];
        let Host::Unix(server) = &config.get_hosts()[0] else { panic!("the tests use sockets") };
        let name = format!(".s.PGSQL.{port}");
        let (server, folder) = (server.join(&name), TempDir::new().expect("there is room"));
        let listener = UnixListener::bind(folder.path().join(&name)).expect("the folder is new");
        let counts = Arc::new(Counts::default());
        tokio::spawn(accept(listener, server, Arc::clone(&counts)));
        let text = |value: Option<&str>| value.expect("the URL names it").to_owned();
        Self { counts, folder, user: text(config.get_user()), database: text(config.get_dbname()), port }
    }

    /// The same database through the relay.
    pub(crate) fn url(&self) -> String {
        let host = self.folder.path().display();
        format!("host={host} port={} user={} dbname={}", self.port, self.user, self.database)
    }

    /// Begins to count anew.
    pub(crate) fn reset(&self) {
        self.counts.round_trips.store(0, Ordering::SeqCst);
    }

    /// Round trips since then.
    pub(crate) fn count(&self) -> u64 {
        self.counts.round_trips.load(Ordering::SeqCst)
    }
}

async fn accept(listener: UnixListener, server: PathBuf, counts: Arc<Counts>) {
    while let Ok((client, _address)) = listener.accept().await {
        let server = UnixStream::connect(&server).await.expect("the server is there");
        counts.unanswered.store(0, Ordering::SeqCst);
        let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
        tokio::spawn(requests(from_client, to_server, Arc::clone(&counts)));
        tokio::spawn(answers(from_server, to_client, Arc::clone(&counts)));
    }
}

/// The startup packet has no type; every other message has one byte of type and four of length.
async fn requests(mut client: OwnedReadHalf, mut server: OwnedWriteHalf, counts: Arc<Counts>) -> Option<()> {
    let length = client.read_u32().await.ok()?;
    let mut startup = vec![0; length as usize - 4];
    client.read_exact(&mut startup).await.ok()?;
    server.write_all(&[&length.to_be_bytes()[..], &startup].concat()).await.ok()?;
    // The server's first ReadyForQuery answers this one.
    counts.unanswered.fetch_add(1, Ordering::SeqCst);
    loop {
        let (kind, message) = read(&mut client).await?;
        if matches!(kind, b'Q' | b'S') && counts.unanswered.fetch_add(1, Ordering::SeqCst) == 0 {
            counts.round_trips.fetch_add(1, Ordering::SeqCst);
        }
        server.write_all(&message).await.ok()?;
    }
}

/// Each Query and each Sync is answered by one ReadyForQuery.
async fn answers(mut server: OwnedReadHalf, mut client: OwnedWriteHalf, counts: Arc<Counts>) -> Option<()> {
    loop {
        let (kind, message) = read(&mut server).await?;
        if kind == b'Z' {
            counts.unanswered.fetch_sub(1, Ordering::SeqCst);
        }
        client.write_all(&message).await.ok()?;
    }
}

/// One message with its type; none when the peer has gone.
async fn read(from: &mut OwnedReadHalf) -> Option<(u8, Vec<u8>)> {
    let kind = from.read_u8().await.ok()?;
    let length = from.read_u32().await.ok()?;
    let mut message = vec![kind];
    message.extend(length.to_be_bytes());
    message.resize(1 + length as usize, 0);
    from.read_exact(&mut message[5..]).await.ok()?;
    Some((kind, message))
}
