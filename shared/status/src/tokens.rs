//! Which bearer tokens are valid.

use std::fmt;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};

/// The valid tokens, kept as hashes: comparing takes the same time whatever is presented, and nothing can be printed.
///
/// Several may be valid at once, so that a token can be replaced without a gap. Without any, nothing is let in.
#[derive(Clone, Default)]
pub struct Tokens {
    hashes: Vec<[u8; 32]>,
}

impl Tokens {
    /// The tokens of a comma-separated list, as in `STATUS_TOKENS`. Blanks around a token and empty entries are ignored.
    #[must_use]
    pub fn from_list(list: &SecretString) -> Self {
        let tokens = list.expose_secret().split(',').map(str::trim).filter(|token| !token.is_empty());
        Self { hashes: tokens.map(hash).collect() }
    }

    /// Whether no token is configured, so that everything behind one is closed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Whether the request carries exactly one `Authorization` header, with a valid bearer token in it.
    pub(crate) fn admit(&self, headers: &HeaderMap) -> bool {
        let mut presented = headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (presented.next(), presented.next()) else {
            return false;
        };
        let Some((scheme, token)) = value.to_str().ok().and_then(|text| text.split_once(' ')) else {
            return false;
        };
        scheme.eq_ignore_ascii_case("Bearer") && self.knows(token.trim())
    }

    /// Compares with every token, also after one has matched.
    fn knows(&self, token: &str) -> bool {
        let presented = hash(token);
        let matched = self.hashes.iter().fold(Choice::from(0), |found, known| found | known.ct_eq(&presented));
        matched.into()
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Tokens({})", self.hashes.len())
    }
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn tokens(list: &str) -> Tokens {
        Tokens::from_list(&SecretString::from(list))
    }

    fn headers(values: &[&str]) -> HeaderMap {
        let values = values.iter().map(|value| (AUTHORIZATION, HeaderValue::from_str(value).expect("a header value")));
        values.collect()
    }

    #[test]
    fn each_configured_token_is_let_in_and_no_other() {
        let tokens = tokens(" new-token ,old-token,, ");
        assert!(tokens.admit(&headers(&["Bearer new-token"])));
        assert!(tokens.admit(&headers(&["bearer old-token"])));
        for wrong in
            ["Bearer new-toke", "Bearer ", "Bearer", "Bearer new-token,old-token", "Basic new-token", "new-token"]
        {
            assert!(!tokens.admit(&headers(&[wrong])), "{wrong}");
        }
        assert!(!tokens.admit(&headers(&[])));
    }

    #[test]
    fn two_authorization_headers_are_refused_even_if_both_are_right() {
        assert!(!tokens("right").admit(&headers(&["Bearer right", "Bearer right"])));
    }

    #[test]
    fn without_a_configured_token_nothing_is_let_in() {
        for list in ["", " , ,"] {
            assert!(tokens(list).is_empty());
            assert!(!tokens(list).admit(&headers(&["Bearer "])));
            assert!(!tokens(list).admit(&headers(&["Bearer x"])));
        }
    }

    #[test]
    fn a_token_of_eight_kibibytes_is_compared_as_any_other() {
        let long = "x".repeat(8192);
        assert!(!tokens("right").admit(&headers(&[&format!("Bearer {long}")])));
        assert!(tokens(&long).admit(&headers(&[&format!("Bearer {long}")])));
    }

    #[test]
    fn the_debug_form_says_only_how_many_there_are() {
        assert_eq!(format!("{:?}", tokens("secret-one,secret-two")), "Tokens(2)");
    }
}
