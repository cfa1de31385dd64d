//! The page: one document with its style and script inside, and the policy that lets nothing else in.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_FRAME_OPTIONS};
use http::{HeaderValue, Response, StatusCode};
use sha2::{Digest, Sha256};

use crate::response;

const DOCUMENT: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = include_str!("page/script.js");

/// The page, put together once.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    text: String,
    policy: HeaderValue,
}

impl Page {
    /// Puts the page together, and its policy from the hashes of what stands in it.
    pub(crate) fn new() -> Self {
        let policy = format!(
            "default-src 'none'; style-src '{}'; script-src '{}'; connect-src 'self'; img-src data:; base-uri 'none'; \
             form-action 'none'; frame-ancestors 'none'",
            source_hash(STYLE),
            source_hash(SCRIPT)
        );
        Self {
            text: DOCUMENT.replace("{style}", STYLE).replace("{script}", SCRIPT),
            // Base64 and the words above are visible ASCII; a policy that is none would still let nothing in.
            policy: HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static("default-src 'none'")),
        }
    }

    /// The answer.
    pub(crate) fn answer(&self) -> Response<String> {
        let content_type = HeaderValue::from_static("text/html; charset=utf-8");
        let mut answer = response::with_body(StatusCode::OK, content_type, self.text.clone());
        response::set(&mut answer, CONTENT_SECURITY_POLICY, self.policy.clone());
        response::set(&mut answer, REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        response::set(&mut answer, X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
        answer
    }
}

fn source_hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_names_the_hash_of_exactly_what_stands_between_the_tags() {
        let page = Page::new();
        let policy = page.policy.to_str().expect("visible ASCII");
        for (open, close) in [("<style>", "</style>"), ("<script>", "</script>")] {
            let (_before, rest) = page.text.split_once(open).expect("an opening tag");
            let (inside, _after) = rest.split_once(close).expect("a closing tag");
            assert!(policy.contains(&source_hash(inside)), "{open}");
            assert!(!inside.contains("{style}") && !inside.contains("{script}"));
        }
    }

    #[test]
    fn the_page_asks_nothing_of_any_other_host_and_has_no_inline_handler() {
        let page = Page::new().text;
        for word in ["http://", "https://", "src=", "@import", "url(", "onclick=", "style="] {
            assert!(!page.contains(word), "{word}");
        }
    }
}
