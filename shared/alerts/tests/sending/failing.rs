//! Receivers that are dead, slow, broken, endless or somebody else.

use std::time::Duration;

use tidemark_alerts::outbound::{Client, Reach};
use tidemark_testkit::{HttpSink, SinkAnswer, SinkCertificate};
use tokio::net::TcpListener;

use crate::{AMPLE, post, post_within, send, words};

/// Runs out in the tests that wait for it, and is enough to connect on this machine.
const SHORT: Duration = Duration::from_secs(1);

#[tokio::test]
async fn a_receiver_that_never_answers_is_given_up_at_the_limit() {
    let sink = HttpSink::start([SinkAnswer::Held]).await;
    assert_eq!(words(&post_within(&sink.url("/"), Reach::Configured, SHORT).await), "retry: timeout");
    assert_eq!(sink.requests().len(), 1, "it had the request");
    sink.release();
    assert_eq!(words(&post(&sink.url("/")).await), "delivered");
}

#[tokio::test]
async fn a_receiver_that_never_says_a_word_of_tls_is_given_up_at_the_limit() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", silent.local_addr().unwrap());
    assert_eq!(words(&post_within(&url, Reach::Configured, SHORT).await), "retry: connect_timeout");
}

#[tokio::test]
async fn nobody_at_home_is_tried_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    assert_eq!(words(&post(&url).await), "retry: refused");
}

#[tokio::test]
async fn a_name_that_does_not_exist_is_tried_again() {
    // A label longer than any name server takes, so that none is asked.
    let url = format!("https://{}.test/", "a".repeat(64));
    assert_eq!(words(&post(&url).await), "retry: name_not_resolved");
}

#[tokio::test]
async fn a_receiver_that_hangs_up_before_its_answer_is_tried_again() {
    let sink = HttpSink::start([SinkAnswer::Cut]).await;
    assert_eq!(words(&post(&sink.url("/")).await), "retry: closed");
    assert_eq!(sink.requests().len(), 1, "it had the request");
}

#[tokio::test]
async fn an_answer_that_is_no_http_is_tried_again() {
    let sink = HttpSink::start([SinkAnswer::Noise]).await;
    assert_eq!(words(&post(&sink.url("/")).await), "retry: answer_invalid");
}

#[tokio::test]
async fn an_answer_that_breaks_off_or_stops_after_its_status_counts() {
    let sink = HttpSink::start([SinkAnswer::CutBody, SinkAnswer::HeldBody]).await;
    assert_eq!(words(&post(&sink.url("/")).await), "delivered");
    assert_eq!(words(&post_within(&sink.url("/"), Reach::Configured, SHORT).await), "delivered");
    assert_eq!(sink.requests().len(), 2);
}

#[tokio::test]
async fn an_endless_answer_is_left_long_before_the_limit() {
    let sink = HttpSink::start([SinkAnswer::EndlessBody]).await;
    let url = sink.url("/");
    let sending = tokio::time::timeout(AMPLE / 3, post(&url));
    assert_eq!(words(&sending.await.expect("it does not read on until the limit")), "delivered");
    sink.until_left().await;
}

#[tokio::test]
async fn a_server_that_cannot_be_trusted_gets_no_request() {
    for (certificate, expected) in [
        (SinkCertificate::Expired, "retry: certificate_expired"),
        (SinkCertificate::OtherHost, "retry: certificate_wrong_host"),
        (SinkCertificate::SelfSigned, "retry: certificate_unknown_issuer"),
    ] {
        let sink = HttpSink::start_encrypted(certificate, []).await;
        let client = Client::trusting(sink.authorities(), Reach::Configured).unwrap();
        assert_eq!(words(&send(&client, &sink.url("/"), AMPLE).await), expected);
        sink.until_left().await;
        assert_eq!((sink.connections(), sink.requests().len()), (1, 0), "{certificate:?}");
    }
}

#[tokio::test]
async fn an_authority_that_nobody_named_is_not_trusted() {
    let sink = HttpSink::start_encrypted(SinkCertificate::Good, []).await;
    assert_eq!(words(&post(&sink.url("/")).await), "retry: certificate_unknown_issuer");
}

#[tokio::test]
async fn a_plain_server_at_an_https_address_is_not_spoken_to_in_plain_text() {
    let sink = HttpSink::start([]).await;
    let url = sink.url("/").replace("http://", "https://");
    assert_eq!(words(&post(&url).await), "retry: tls");
    assert_eq!(sink.requests().len(), 0);
}
