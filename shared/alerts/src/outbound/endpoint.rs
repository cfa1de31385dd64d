//! A URL, taken apart once: what is checked is what is connected to.

use std::net::IpAddr;

use http::Uri;
use http::uri::{Authority, PathAndQuery, Scheme};

/// Where a request goes. Has no `Debug`, so that it cannot be logged.
pub(crate) struct Endpoint {
    encrypted: bool,
    /// Without the brackets of an IPv6 address.
    host: String,
    port: u16,
    /// Host and port as they stand in the URL.
    authority: Authority,
    path: PathAndQuery,
}

/// What is wrong with a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UrlFault {
    /// It is no absolute URL of ASCII characters.
    Invalid,
    /// It is neither `https` nor `http`.
    Scheme,
    /// It holds a user or a password.
    Userinfo,
}

impl Endpoint {
    pub(crate) fn parse(url: &str) -> Result<Self, UrlFault> {
        let parts = url.parse::<Uri>().map_err(|_| UrlFault::Invalid)?.into_parts();
        let (Some(scheme), Some(authority)) = (parts.scheme, parts.authority) else { return Err(UrlFault::Invalid) };
        let encrypted = match scheme {
            _ if scheme == Scheme::HTTPS => true,
            _ if scheme == Scheme::HTTP => false,
            _ => return Err(UrlFault::Scheme),
        };
        if authority.as_str().contains('@') {
            return Err(UrlFault::Userinfo);
        }
        let host = authority.host();
        let port = match &authority.as_str()[host.len()..] {
            "" | ":" if encrypted => 443,
            "" | ":" => 80,
            // A port that is no number is not the default one.
            _ => authority.port_u16().ok_or(UrlFault::Invalid)?,
        };
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host).to_owned();
        if host.is_empty() {
            return Err(UrlFault::Invalid);
        }
        let path = parts.path_and_query.unwrap_or_else(|| PathAndQuery::from_static("/"));
        Ok(Self { encrypted, host, port, authority, path })
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        self.encrypted
    }

    /// Whether the host is written as this machine: `localhost` or an address of it.
    pub(crate) fn is_loopback(&self) -> bool {
        self.host.eq_ignore_ascii_case("localhost")
            || self.host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn authority(&self) -> &Authority {
        &self.authority
    }

    pub(super) fn path(&self) -> &PathAndQuery {
        &self.path
    }
}

impl UrlFault {
    /// The rule that it breaks, to follow "its url".
    pub(crate) fn rule(self) -> &'static str {
        match self {
            Self::Invalid => "must be a URL in ASCII with a host",
            Self::Scheme => "must begin with https:// or http://",
            Self::Userinfo => "must hold no user and no password",
        }
    }

    /// The word for it in a [`Reason`](super::Reason).
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Invalid => "url_invalid",
            Self::Scheme => "url_scheme",
            Self::Userinfo => "url_userinfo",
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn seen(url: &str) -> (bool, String, u16, String) {
        let endpoint = Endpoint::parse(url).map_err(|fault| format!("{url}: {fault:?}")).unwrap();
        (endpoint.encrypted, endpoint.host, endpoint.port, endpoint.path.to_string())
    }

    #[test]
    fn a_url_is_host_port_and_path() {
        assert_eq!(seen("https://a.test"), (true, "a.test".into(), 443, "/".into()));
        assert_eq!(seen("http://a.test/x?y=%2F&z=1#f"), (false, "a.test".into(), 80, "/x?y=%2F&z=1".into()));
        assert_eq!(seen("HTTPS://A.test:8443/"), (true, "A.test".into(), 8443, "/".into()));
        assert_eq!(seen("https://a.test?sig=1"), (true, "a.test".into(), 443, "/?sig=1".into()));
        assert_eq!(seen("http://[::1]:81/x"), (false, "::1".into(), 81, "/x".into()));
        assert_eq!(seen("https://a.test:/"), (true, "a.test".into(), 443, "/".into()));
    }

    #[test]
    fn a_url_that_could_mean_something_else_is_refused() {
        for (url, fault) in [
            ("", UrlFault::Invalid),
            ("a.test", UrlFault::Invalid),
            ("/path", UrlFault::Invalid),
            ("//a.test/", UrlFault::Invalid),
            ("https:///path", UrlFault::Invalid),
            ("https://:443/", UrlFault::Invalid),
            ("https://a.test:99999/", UrlFault::Invalid),
            ("https://a.test:x/", UrlFault::Invalid),
            ("https://a.test:-1/", UrlFault::Invalid),
            ("https://a b.test/", UrlFault::Invalid),
            ("https://a.test/\r\nx: y", UrlFault::Invalid),
            ("https://a.test/\0", UrlFault::Invalid),
            ("https://a.test\\@b.test/", UrlFault::Invalid),
            ("https://a.test%00/", UrlFault::Invalid),
            ("https://[::1/", UrlFault::Invalid),
            ("https://ä.test/", UrlFault::Invalid),
            ("file:///etc/passwd", UrlFault::Invalid),
            ("ftp://a.test/", UrlFault::Scheme),
            ("gopher://a.test/", UrlFault::Scheme),
            ("https://user@a.test/", UrlFault::Userinfo),
            ("https://user:word@a.test/", UrlFault::Userinfo),
            ("https://@a.test/", UrlFault::Userinfo),
        ] {
            assert_eq!(Endpoint::parse(url).err(), Some(fault), "{url}");
        }
    }
}
