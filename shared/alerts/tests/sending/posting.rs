//! What is sent, and what the status of an answer means.

use bytes::Bytes;
use http::Method;
use secrecy::SecretString;
use tidemark_alerts::outbound::{Client, Post, Reach};
use tidemark_testkit::{HttpSink, SinkAnswer, SinkCertificate};

use crate::{AMPLE, post, send, words};

#[tokio::test]
async fn a_request_says_who_sends_it_and_what_it_is() {
    let sink = HttpSink::start([]).await;
    assert_eq!(words(&post(&sink.url("/hook/a%2Fb?sig=1%3D&x=y")).await), "delivered");
    let [request] = &sink.requests()[..] else { panic!("one request arrives") };
    assert_eq!(request.method, Method::POST);
    assert_eq!(request.path, "/hook/a%2Fb?sig=1%3D&x=y");
    assert_eq!(request.body, r#"{"greeting":"hello"}"#);
    let expected = [
        ("host", sink.address().to_string()),
        ("user-agent", concat!("tidemark/", env!("CARGO_PKG_VERSION")).to_owned()),
        ("content-type", "application/json".to_owned()),
        ("idempotency-key", "key-1".to_owned()),
        ("content-length", "20".to_owned()),
        ("connection", "close".to_owned()),
    ];
    for (name, value) in &expected {
        assert_eq!(request.headers[*name], *value, "{name}");
    }
    assert_eq!(request.headers.len(), expected.len(), "nothing else is told: {:?}", request.headers);
}

#[tokio::test]
async fn a_request_goes_through_tls_to_a_server_that_is_trusted() {
    let sink = HttpSink::start_encrypted(SinkCertificate::Good, []).await;
    let client = Client::trusting(sink.authorities(), Reach::Configured).unwrap();
    assert_eq!(words(&send(&client, &sink.url("/hook"), AMPLE).await), "delivered");
    assert_eq!(sink.requests().len(), 1);
}

#[tokio::test]
async fn a_status_is_sorted_by_what_to_do_next() {
    let statuses = [200, 202, 204, 400, 401, 403, 404, 408, 410, 413, 429, 500, 502, 503];
    let sink = HttpSink::start(statuses.map(SinkAnswer::Status)).await;
    for status in statuses {
        let expected = match status {
            200..=299 => "delivered".to_owned(),
            408 | 429 | 500.. => format!("retry: status {status}"),
            _ => format!("permanent: status {status}"),
        };
        assert_eq!(words(&post(&sink.url("/")).await), expected);
    }
    assert_eq!(sink.connections(), statuses.len(), "nothing is tried twice");
}

#[tokio::test]
async fn a_receiver_that_asks_to_be_left_alone_is_left_alone_for_at_most_an_hour() {
    let asked = |status: u16, value: &str| SinkAnswer::RetryAfter(status, value.to_owned());
    let sink = HttpSink::start([
        asked(429, "7"),
        asked(503, "0"),
        asked(429, "86400"),
        asked(429, "-7"),
        asked(429, "soon"),
        asked(503, "Fri, 31 Dec 9999 23:59:59 GMT"),
        asked(503, "Thu, 01 Jan 1970 00:00:00 GMT"),
        asked(404, "7"),
    ])
    .await;
    for expected in [
        "retry after 7 s: status 429",
        "retry after 0 s: status 503",
        "retry after 3600 s: status 429",
        "retry: status 429",
        "retry: status 429",
        "retry after 3600 s: status 503",
        "retry after 0 s: status 503",
        "permanent: status 404",
    ] {
        assert_eq!(words(&post(&sink.url("/")).await), expected);
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = HttpSink::start([]).await;
    let redirects = [301, 302, 303, 307, 308];
    let sink = HttpSink::start(redirects.map(|status| SinkAnswer::Redirect(status, elsewhere.url("/")))).await;
    for status in redirects {
        assert_eq!(words(&post(&sink.url("/")).await), format!("permanent: redirect {status}"));
    }
    assert_eq!((sink.connections(), elsewhere.connections()), (redirects.len(), 0));
}

#[tokio::test]
async fn a_key_that_would_be_another_header_is_not_sent() {
    let sink = HttpSink::start([]).await;
    let client = Client::new(Reach::Configured).unwrap();
    for key in ["a\r\nx-other: 1", "a\0b", "a\nb"] {
        let url = SecretString::from(sink.url("/"));
        let post = Post { url: &url, idempotency_key: key, body: Bytes::new(), limit: AMPLE };
        assert_eq!(words(&client.post(&post).await), "permanent: idempotency_key_invalid");
    }
    assert_eq!(sink.connections(), 0);
}
