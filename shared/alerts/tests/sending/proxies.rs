//! No environment variable has a say in where a request goes.

use std::process::Command;

use tidemark_testkit::HttpSink;

use crate::{post, words};

/// Set where this test runs itself a second time, with proxies in its environment.
const SECOND_RUN: &str = "TIDEMARK_TEST_WITH_PROXIES";

#[tokio::test]
async fn a_proxy_in_the_environment_is_not_used() {
    if std::env::var_os(SECOND_RUN).is_some() {
        let sink = HttpSink::start([]).await;
        assert_eq!(words(&post(&sink.url("/")).await), "delivered");
        assert_eq!(sink.requests()[0].path, "/");
        return;
    }
    let proxy = HttpSink::start([]).await;
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "proxies::a_proxy_in_the_environment_is_not_used"]).env(SECOND_RUN, "1");
    for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
        again.env(name, proxy.url("/"));
    }
    again.env_remove("no_proxy").env_remove("NO_PROXY");
    let output = tokio::task::spawn_blocking(move || again.output()).await.unwrap().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
    assert_eq!(proxy.connections(), 0);
}
