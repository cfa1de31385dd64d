//! URLs from data reach the public Internet and nothing else.

use tidemark_alerts::outbound::Reach;
use tidemark_testkit::HttpSink;

use crate::{AMPLE, post_within, words};

/// Ways to write this machine's address. A resolver reads most of them as 127.0.0.1.
const THIS_MACHINE: [&str; 9] = [
    "127.0.0.1",
    "localhost",
    "LOCALHOST",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "127.1",
    "0.0.0.0",
    "[::ffff:127.0.0.1]",
];

async fn through_every_spelling(sink: &HttpSink, reach: Reach) -> Vec<String> {
    let mut outcomes = Vec::new();
    for host in THIS_MACHINE {
        let url = format!("http://{host}:{}/", sink.address().port());
        outcomes.push(words(&post_within(&url, reach, AMPLE).await));
    }
    outcomes
}

#[tokio::test]
async fn this_machine_is_out_of_reach_however_it_is_spelt() {
    let sink = HttpSink::start([]).await;
    assert_eq!(through_every_spelling(&sink, Reach::Public).await, ["permanent: address_refused"; THIS_MACHINE.len()]);
    assert_eq!(sink.connections(), 0);
}

#[tokio::test]
async fn this_machine_is_in_reach_where_an_operator_has_allowed_it() {
    let sink = HttpSink::start([]).await;
    assert_eq!(through_every_spelling(&sink, Reach::Anywhere).await, ["delivered"; THIS_MACHINE.len()]);
    assert_eq!(sink.requests().len(), THIS_MACHINE.len());
}

#[tokio::test]
async fn inner_and_link_local_addresses_are_out_of_reach() {
    for host in
        ["169.254.169.254", "2852039166", "10.0.0.1", "192.168.1.1", "172.16.0.1", "[fe80::1]", "[fd00:ec2::254]"]
    {
        for scheme in ["http", "https"] {
            let url = format!("{scheme}://{host}/latest/meta-data/");
            assert_eq!(words(&post_within(&url, Reach::Public, AMPLE).await), "permanent: address_refused", "{url}");
        }
    }
}

#[tokio::test]
async fn a_configured_target_is_not_spoken_to_in_plain_text_across_the_network() {
    let outcome = post_within("http://10.0.0.1/", Reach::Configured, AMPLE).await;
    assert_eq!(words(&outcome), "permanent: address_refused");
}

#[tokio::test]
async fn a_url_that_must_not_be_called_is_not_called() {
    let sink = HttpSink::start([]).await;
    let address = sink.address();
    for (url, expected) in [
        (format!("http://user:word@{address}/"), "permanent: url_userinfo"),
        (format!("http://example.com@{address}/"), "permanent: url_userinfo"),
        (format!("ftp://{address}/"), "permanent: url_scheme"),
        (format!("gopher://{address}/"), "permanent: url_scheme"),
        (address.to_string(), "permanent: url_invalid"),
        ("file:///etc/passwd".to_owned(), "permanent: url_invalid"),
        (String::new(), "permanent: url_invalid"),
    ] {
        assert_eq!(words(&post_within(&url, Reach::Anywhere, AMPLE).await), expected, "{url}");
    }
    assert_eq!(sink.connections(), 0);
}
