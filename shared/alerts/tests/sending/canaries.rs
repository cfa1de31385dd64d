//! A target's URL is seen by the target and by nobody else.

use std::time::Duration;

use jiff::Timestamp;
use secrecy::SecretString;
use tidemark_alerts::outbound::{Client, Reach};
use tidemark_alerts::{Alert, Digest, Targets, deliver};
use tidemark_testkit::{CapturedLog, HttpSink, SinkAnswer, SinkCertificate};

/// In every URL, and (with `answer-body-` before it) in every body that a sink answers with.
const CANARY: &str = "canary";

/// Targets with every kind of end, all with the canary in their URLs.
fn targets(plain: &HttpSink, untrusted: &HttpSink) -> Targets {
    let address = plain.address();
    let urls = [
        plain.url("/canary?sig=canary"),
        untrusted.url("/canary"),
        format!("https://{address}/canary"),
        format!("https://canary-{}.test/", "a".repeat(64)),
        "http://127.0.0.1:1/canary".to_owned(),
        plain.url("/canary/second"),
    ];
    let document: Vec<_> = urls
        .iter()
        .enumerate()
        .map(|(index, url)| serde_json::json!({"name": format!("t{index}"), "kind": "json", "url": url}))
        .collect();
    Targets::parse(&SecretString::from(serde_json::to_string(&document).unwrap())).unwrap()
}

fn digest() -> Digest {
    let alert = Alert {
        id: 1,
        kind: "test".to_owned(),
        subject: "everything".to_owned(),
        error_code: String::new(),
        occurrences: 1,
        raised_at: Timestamp::UNIX_EPOCH,
        last_raised_at: Timestamp::UNIX_EPOCH,
        resolved_at: None,
    };
    Digest::new(vec![alert]).unwrap()
}

#[tokio::test]
async fn no_url_and_no_answer_shows_in_what_is_printed_logged_or_returned() {
    let logged = CapturedLog::everything();
    let answers = [
        SinkAnswer::Redirect(302, "https://canary.test/".to_owned()),
        SinkAnswer::Status(400),
        SinkAnswer::Noise,
        SinkAnswer::CutBody,
        SinkAnswer::Cut,
        SinkAnswer::Status(503),
    ];
    let rounds = answers.len() / 2;
    let plain = HttpSink::start(answers).await;
    let untrusted = HttpSink::start_encrypted(SinkCertificate::SelfSigned, []).await;
    let targets = targets(&plain, &untrusted);
    let mut seen = format!("{targets:?} {targets:#?}");
    for target in &targets {
        seen += &format!("{target} {target:?} {target:#?}");
    }
    let client = Client::new(Reach::Configured).unwrap();
    for _round in 0..rounds {
        for delivery in deliver(&targets, &digest(), &client, Duration::from_secs(10)).await {
            seen += &format!("{delivery:?} {delivery:#?} {}", crate::words(&delivery.outcome));
        }
    }
    assert_eq!(plain.requests().len(), 2 * rounds);
    assert!(plain.requests().iter().all(|request| request.path.contains(CANARY)), "the targets see their URLs");
    tracing::trace!("everything is sent");
    let logged = logged.text();
    assert!(logged.contains("everything is sent"), "the log is captured");
    for (place, text) in [("what is printed", seen), ("the log", logged)] {
        assert!(!text.contains(CANARY), "a canary is seen in {place}: {text}");
    }
}
