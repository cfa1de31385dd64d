//! Posts what the application asked for to a receiver on the network.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};
use tidemark_alerts::outbound::{Client, Outcome, Post};

use crate::{Context, End, Handler};

/// The type of its jobs.
pub const JOB_TYPE: i32 = 3;

/// How long a receiver may take, unless the handler has less time.
const REQUEST_LIMIT: Duration = Duration::from_secs(30);
/// Kept for recording the outcome.
const TIME_TO_END: Duration = Duration::from_secs(1);
/// A receiver that asks for no rest at all gets this one: a snooze costs no attempt.
const SNOOZE_MIN: Duration = Duration::from_secs(1);
/// Bytes of a body.
const BODY_BYTES_MAX: usize = 256 * 1024;
/// Bytes of a URL.
const URL_BYTES_MAX: usize = 2048;
/// Headers of a request beside our own.
const HEADERS_MAX: usize = 20;
/// Bytes of one header, name and value.
const HEADER_BYTES_MAX: usize = 4096;
/// Headers that are not the application's to set: they say how a request is framed, where it goes, and which job it is.
const OURS: [HeaderName; 9] = [
    header::HOST,
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    header::CONNECTION,
    header::TE,
    header::TRAILER,
    header::UPGRADE,
    header::EXPECT,
    header::USER_AGENT,
];
const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// What a webhook job carries: `{"url", "body", "headers"?, "secret_header"?}`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Webhook {
    url: SecretString,
    body: Value,
    #[serde(default)]
    headers: Map<String, Value>,
    secret_header: Option<SecretHeader>,
    /// Added where a schedule enqueued it.
    #[serde(default, rename = "planned_at")]
    _planned_at: Option<IgnoredAny>,
}

/// A header whose value is shown nowhere, as `{"name": "authorization", "value": "…"}`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SecretHeader {
    name: String,
    value: SecretString,
}

/// Why a webhook cannot be sent: the field, and the rule that it breaks; never its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Refusal(&'static str, &'static str);

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.0, self.1)
    }
}

/// Posts a JSON body. `Idempotency-Key` is the job's id, so that a receiver recognises a repetition.
///
/// 2xx is done. 408, 429 and 5xx snooze the job where they come with a `Retry-After`, and fail it otherwise, as silence does;
/// everything else is permanent. Only addresses of the public Internet are reached, unless the configuration allows others; redirects are not
/// followed.
pub struct WebhookHandler {
    client: Client,
}

impl WebhookHandler {
    /// A handler that posts with `client`, whose reach says which addresses may be connected to.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { client }
    }
}

impl Handler for WebhookHandler {
    type Payload = Webhook;

    async fn handle(&self, context: &Context<Webhook>) -> End {
        let webhook = context.payload();
        let (headers, body) = match webhook.checked() {
            Ok(checked) => checked,
            Err(refusal) => return End::permanent("invalid_payload", refusal.to_string()),
        };
        let key = context.job_id().to_string();
        let post = Post {
            url: &webhook.url,
            idempotency_key: &key,
            body,
            limit: REQUEST_LIMIT.min(context.time_left().saturating_sub(TIME_TO_END)),
        };
        match self.client.post_with_headers(&post, &headers).await {
            Outcome::Delivered => End::Done(json!({"delivered": true})),
            Outcome::Retry { after: Some(after), .. } => End::Snooze(after.max(SNOOZE_MIN)),
            Outcome::Retry { after: None, reason } => {
                End::failed(reason.word(), format!("the receiver could not take it: {reason}"))
            }
            Outcome::Permanent { reason } => {
                End::permanent(reason.word(), format!("the receiver will not take it: {reason}"))
            }
        }
    }
}

impl Webhook {
    /// Its headers and its body, where they keep the limits.
    fn checked(&self) -> Result<(HeaderMap, Bytes), Refusal> {
        if self.url.expose_secret().len() > URL_BYTES_MAX {
            return Err(Refusal("url", "must have at most 2048 bytes"));
        }
        let body = self.body.to_string();
        if body.len() > BODY_BYTES_MAX {
            return Err(Refusal("body", "must have at most 262144 bytes as text"));
        }
        if self.headers.len() > HEADERS_MAX {
            return Err(Refusal("headers", "must be at most 20"));
        }
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let value = value.as_str().ok_or(Refusal("headers", "must have strings as values"))?;
            let (name, value) = checked_header("headers", name, value)?;
            headers.insert(name, value);
        }
        if let Some(SecretHeader { name, value }) = &self.secret_header {
            let (name, mut value) = checked_header("secret_header", name, value.expose_secret())?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok((headers, Bytes::from(body)))
    }
}

fn checked_header(field: &'static str, name: &str, value: &str) -> Result<(HeaderName, HeaderValue), Refusal> {
    if name.len() + value.len() > HEADER_BYTES_MAX {
        return Err(Refusal(field, "must have at most 4096 bytes each"));
    }
    let name: HeaderName = name.parse().map_err(|_| Refusal(field, "must have names that HTTP allows"))?;
    if OURS.contains(&name) || name == IDEMPOTENCY_KEY {
        return Err(Refusal(field, "must not set what the request itself is made of"));
    }
    let value = HeaderValue::from_str(value).map_err(|_| Refusal(field, "must have values that HTTP allows"))?;
    Ok((name, value))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn checked(payload: Value) -> Result<(HeaderMap, Bytes), Refusal> {
        serde_json::from_value::<Webhook>(payload).unwrap().checked()
    }

    #[test]
    fn headers_and_body_are_sent_as_they_are_given() {
        let (headers, body) = checked(json!({
            "url": "https://a.test/", "body": {"a": [1]}, "headers": {"X-One": "1"},
            "secret_header": {"name": "Authorization", "value": "Bearer canary"},
        }))
        .unwrap();
        assert_eq!(&body[..], br#"{"a":[1]}"#);
        assert_eq!(headers["x-one"], "1");
        assert_eq!(headers["authorization"], "Bearer canary");
        assert!(!format!("{headers:?}").contains("canary"));
    }

    #[test]
    fn what_breaks_a_limit_is_told_by_field_and_rule_alone() {
        let with = |field: &str, value: Value| {
            let mut payload = json!({"url": "https://a.test/", "body": null});
            payload[field] = value;
            checked(payload).map(|_| ()).unwrap_err().to_string()
        };
        let many: Map<String, Value> = (0..21).map(|number| (format!("x-{number}"), json!(""))).collect();
        for (field, value, rule) in [
            ("url", json!("x".repeat(2049)), "at most 2048 bytes"),
            ("body", json!("x".repeat(BODY_BYTES_MAX)), "at most 262144 bytes"),
            ("headers", json!(many), "at most 20"),
            ("headers", json!({"x": 1}), "strings"),
            ("headers", json!({"canary header": "1"}), "names that HTTP allows"),
            ("headers", json!({"x": "canary\r\ny: z"}), "values that HTTP allows"),
            ("headers", json!({"x": "x".repeat(4096)}), "at most 4096"),
            ("headers", json!({"Host": "canary"}), "must not set"),
            ("headers", json!({"Content-Length": "0"}), "must not set"),
            ("headers", json!({"Idempotency-Key": "canary"}), "must not set"),
            ("secret_header", json!({"name": "Transfer-Encoding", "value": "canary"}), "must not set"),
            ("secret_header", json!({"name": "x", "value": "canary\n"}), "values that HTTP allows"),
        ] {
            let refusal = with(field, value);
            assert!(refusal.starts_with(field) && refusal.contains(rule), "{refusal}");
            assert!(!refusal.contains("canary"), "{refusal}");
        }
    }
}
