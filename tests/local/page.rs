//! The status page of `tidemark local`.

use rustix::process::Signal;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::folder::Folder;

/// Status line and body of a GET.
async fn get(address: &str, path: &str, token: Option<&str>) -> (String, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{token}Connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

#[tokio::test]
async fn local_says_where_its_page_is_and_guards_the_figures_with_a_token_of_its_own() {
    let folder = Folder::new().await;
    let mut running = folder.start(&["local", "--port", "0"]);
    let line = running.until_says("status page http://").await;
    let address = line.split("http://").nth(1).unwrap().split('/').next().unwrap();
    let token = line.split("(token: ").nth(1).unwrap().trim_end_matches(')');
    assert!(address.starts_with("127.0.0.1:"), "on this machine only: {line}");
    assert_eq!(get(address, "/healthz", None).await.0, "HTTP/1.1 200 OK");
    assert_eq!(get(address, "/", None).await.0, "HTTP/1.1 200 OK");
    let (status, body) = get(address, "/stats-process-refresh-jobs", Some(token)).await;
    assert_eq!(status, "HTTP/1.1 200 OK");
    let document: Value = serde_json::from_str(&body).unwrap();
    assert!(document["worker_status"].is_object(), "{document}");
    for wrong in [None, Some("wrong")] {
        let (status, body) = get(address, "/stats-process-refresh-jobs", wrong).await;
        assert_eq!(status, "HTTP/1.1 401 Unauthorized", "{wrong:?}");
        assert!(!body.contains("worker_status"));
    }
    // Another system on the same port says so and starts nothing that stays.
    let other = Folder::new().await;
    let port = address.rsplit(':').next().unwrap();
    other.run(&["local", "--port", port]).await.check_refused(1, &[port, "--port"]);
    assert!(!other.has_server());
    running.signal(Signal::INT);
    assert_eq!(running.ended().await.code, Some(0));
}
