//! The database server, from a URL.

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use secrecy::{ExposeSecret, SecretString};
use tidemark_queue::Session;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres::{Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::tls;

/// The longest a whole connect may take when the URL has no `connect_timeout`: resolve, TCP, TLS, authentication.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// A silent server is asked for a sign of life after this long …
const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
/// … every so often …
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(3);
/// … and given up after so many unanswered ones.
const KEEPALIVE_RETRIES: u32 = 3;
/// Sent data that nobody acknowledges ends the connection after this long.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(10);

/// A database server with credentials, and how it must be spoken to.
///
/// Has no `Debug`, so that it cannot be logged.
pub struct Target {
    config: Config,
    encryption: Encryption,
}

enum Encryption {
    /// Only for unix sockets and loopback addresses.
    Plain,
    /// TLS with chain, dates and host name checked.
    Verified(MakeRustlsConnect),
}

/// What `sslmode` asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// `disable` or `allow`.
    Plain,
    /// `prefer` or nothing.
    Default,
    /// `require`, `verify-ca` or `verify-full`.
    Encrypted,
}

impl Target {
    /// Reads `url` and applies the connection settings of the project. The server sees the name `application_name`.
    ///
    /// # Errors
    /// Says in words what is wrong, never with a part of the URL.
    pub fn from_url(url: &SecretString, application_name: &str) -> Result<Self, &'static str> {
        let UrlParts { rest, wanted, authority } = split_tls_parameters(url.expose_secret())?;
        // The parser's own message can hold parts of the URL.
        let mut config: Config = rest.parse().map_err(|_| "it is not a valid Postgres URL")?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err("it names no host");
        }
        let encryption = match (is_local(&config), wanted) {
            (true, Wanted::Plain | Wanted::Default) => Encryption::Plain,
            (false, Wanted::Plain) => return Err("sslmode allows plain text to a server on the network"),
            (true, Wanted::Encrypted) | (false, Wanted::Default | Wanted::Encrypted) => {
                Encryption::Verified(tls::verifying(authority.as_deref())?)
            }
        };
        config.ssl_mode(match encryption {
            Encryption::Plain => SslMode::Disable,
            Encryption::Verified(_) => SslMode::Require,
        });
        apply_settings(&mut config, application_name);
        Ok(Self { config, encryption })
    }

    /// The longest a whole connect may take.
    pub(crate) fn connect_timeout(&self) -> Duration {
        self.config.get_connect_timeout().copied().unwrap_or(CONNECT_TIMEOUT)
    }

    /// Opens a connection and starts its task.
    pub(crate) async fn open(&self) -> Result<Session, tokio_postgres::Error> {
        match &self.encryption {
            Encryption::Plain => {
                let (client, connection) = self.config.connect(NoTls).await?;
                Ok(Session::new(client, tokio::spawn(connection)))
            }
            Encryption::Verified(tls) => {
                let (client, connection) = self.config.connect(tls.clone()).await?;
                Ok(Session::new(client, tokio::spawn(connection)))
            }
        }
    }
}

fn apply_settings(config: &mut Config, application_name: &str) {
    let connect_timeout = config.get_connect_timeout().copied().unwrap_or(CONNECT_TIMEOUT);
    config
        .application_name(application_name)
        .connect_timeout(connect_timeout)
        .keepalives(true)
        .keepalives_idle(KEEPALIVE_IDLE)
        .keepalives_interval(KEEPALIVE_INTERVAL)
        .keepalives_retries(KEEPALIVE_RETRIES)
        .tcp_user_timeout(TCP_USER_TIMEOUT)
        .target_session_attrs(TargetSessionAttrs::ReadWrite);
}

/// Whether every address that could be used stays on this machine. `hostaddr` overrides `host`, so both are looked at.
fn is_local(config: &Config) -> bool {
    let hosts = config.get_hosts().iter().all(|host| match host {
        Host::Tcp(name) => is_loopback_name(name),
        Host::Unix(_) => true,
    });
    hosts && config.get_hostaddrs().iter().all(std::net::IpAddr::is_loopback)
}

fn is_loopback_name(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// A URL without the parameters that tokio-postgres cannot parse, and those parameters.
struct UrlParts<'a> {
    rest: Cow<'a, str>,
    wanted: Wanted,
    authority: Option<PathBuf>,
}

/// Takes `sslmode` and `sslrootcert` out of a URL: tokio-postgres knows neither `verify-full` nor a root file.
fn split_tls_parameters(url: &str) -> Result<UrlParts<'_>, &'static str> {
    if !(url.starts_with("postgres://") || url.starts_with("postgresql://")) {
        return Err("it does not begin with postgres:// or postgresql://");
    }
    let mut parts = UrlParts { rest: Cow::Borrowed(url), wanted: Wanted::Default, authority: None };
    // A password may hold a question mark: parameters begin after the credentials, as in the parser that follows.
    let after_credentials = url.find('@').map_or(0, |at| at + 1);
    let Some(question) = url[after_credentials..].find('?').map(|at| after_credentials + at) else {
        return Ok(parts);
    };
    let mut kept = Vec::new();
    for parameter in url[question + 1..].split('&').filter(|parameter| !parameter.is_empty()) {
        match parameter.split_once('=') {
            Some(("sslmode", value)) => parts.wanted = wanted_by(value)?,
            // `system` means the authorities of the operating system, which a function does not have.
            Some(("sslrootcert", "system")) => parts.authority = None,
            Some(("sslrootcert", value)) => {
                let path = percent_decode_str(value).decode_utf8().map_err(|_| "sslrootcert is not UTF-8")?;
                parts.authority = Some(PathBuf::from(path.as_ref()));
            }
            _ => kept.push(parameter),
        }
    }
    let separator = if kept.is_empty() { "" } else { "?" };
    parts.rest = Cow::Owned([&url[..question], separator, &kept.join("&")].concat());
    Ok(parts)
}

fn wanted_by(sslmode: &str) -> Result<Wanted, &'static str> {
    match sslmode {
        "disable" | "allow" => Ok(Wanted::Plain),
        "prefer" => Ok(Wanted::Default),
        "require" | "verify-ca" | "verify-full" => Ok(Wanted::Encrypted),
        _ => Err("its sslmode is unknown"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn target(url: &str) -> Result<Target, &'static str> {
        Target::from_url(&SecretString::from(url), "tidemark-test")
    }

    fn is_plain(url: &str) -> bool {
        matches!(target(url).unwrap().encryption, Encryption::Plain)
    }

    #[test]
    fn a_server_on_the_network_is_always_verified() {
        for sslmode in ["", "?sslmode=prefer", "?sslmode=require", "?sslmode=verify-ca", "?sslmode=verify-full"] {
            let url = format!("postgres://user:secret@db.example.test/app{sslmode}");
            assert!(!is_plain(&url), "{sslmode}");
            assert_eq!(target(&url).unwrap().config.get_ssl_mode(), SslMode::Require);
        }
    }

    #[test]
    fn plain_text_to_a_server_on_the_network_is_refused() {
        for url in [
            "postgres://user@db.example.test/app?sslmode=disable",
            "postgres://user@db.example.test/app?sslmode=allow",
            "postgres://user@10.0.0.5/app?sslmode=disable",
            "postgres://user@localhost/app?hostaddr=10.0.0.5&sslmode=disable",
            "postgres://user@localhost,db.example.test/app?sslmode=disable",
        ] {
            assert!(target(url).err().is_some_and(|reason| reason.contains("plain text")), "{url}");
        }
    }

    #[test]
    fn a_socket_and_a_loopback_address_may_be_plain() {
        for url in [
            "postgres://user@localhost/app",
            "postgres://user@127.0.0.1:5433/app?sslmode=prefer",
            "postgres://user@[::1]/app?sslmode=disable",
            "postgres://user@%2Fvar%2Frun%2Fpostgresql/app",
            "postgres:///app?host=/var/run/postgresql&user=app",
        ] {
            assert!(is_plain(url), "{url}");
        }
        assert!(!is_plain("postgres://user@localhost/app?sslmode=verify-full"));
    }

    #[test]
    fn an_address_override_decides_what_is_local() {
        assert!(!is_plain("postgres://user@localhost/app?hostaddr=10.0.0.5"));
        assert!(!is_plain("postgres://user@db.example.test/app?hostaddr=127.0.0.1"));
    }

    #[test]
    fn a_question_mark_in_the_password_is_part_of_the_password() {
        let target = target("postgres://user:a?sslmode=x@localhost/app?sslmode=disable").unwrap();
        assert_eq!(target.config.get_password(), Some(b"a?sslmode=x".as_slice()));
        assert_eq!(target.config.get_dbname(), Some("app"));
    }

    #[test]
    fn other_parameters_are_kept() {
        let target = target("postgres://localhost/app?user=me&sslmode=prefer&options=-c%20geqo%3Doff").unwrap();
        assert_eq!(target.config.get_user(), Some("me"));
        assert_eq!(target.config.get_options(), Some("-c geqo=off"));
        assert_eq!(target.config.get_application_name(), Some("tidemark-test"));
        assert_eq!(target.config.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
    }

    #[test]
    fn a_refused_url_is_not_repeated_in_the_reason() {
        for url in [
            "",
            "canary",
            "postgres://user:canary@host/app?canary=canary",
            "postgres://user:canary@host:canary/app",
            "postgres://user:canary@",
            "postgres://user:canary@host/app?sslmode=canary",
            "postgres://user:canary@host/app?sslrootcert=/canary",
            "postgres://user:canary@host/app?hostaddr=canary",
        ] {
            let reason = target(url).err().unwrap();
            assert!(!reason.contains("canary"), "{reason}");
        }
    }
}
