//! Rules that only the bytes show.

use rustix::process::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::{Folder, TOKEN, local};

/// Sends a request as it is; everything that comes back until the server closes.
pub(crate) async fn exchange(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    // A server that has not read everything may close with a reset; what came before it counts.
    stream.read_to_string(&mut answer).await.ok();
    answer
}

/// Asks the server to close after its answer.
pub(crate) const CLOSE: &str = "Host: localhost\r\nConnection: close\r\n";

#[tokio::test]
async fn bodies_are_bounded_head_has_none_and_options_lists_the_methods() {
    let folder = Folder::new().await;
    let (running, address) = local(&folder).await;
    let bearer = format!("Authorization: Bearer {TOKEN}\r\n");

    let large = format!("GET /metrics HTTP/1.1\r\nHost: x\r\n{bearer}Content-Length: 16385\r\n\r\n");
    let refused = exchange(&address, &large).await;
    assert!(refused.starts_with("HTTP/1.1 413 ") && refused.contains("\"payload_too_large\""), "{refused}");
    // Of a body without an announced length nothing is waited for: this one never ends, and the answer comes all the same.
    let endless = format!("GET /healthz HTTP/1.1\r\n{CLOSE}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    assert!(exchange(&address, &endless).await.starts_with("HTTP/1.1 200 "));

    for path in ["/", "/healthz", "/readyz", "/openapi.json", "/metrics", "/dashboard", "/stats-process-refresh-jobs"] {
        let head = exchange(&address, &format!("HEAD {path} HTTP/1.1\r\n{CLOSE}{bearer}\r\n")).await;
        assert!(head.starts_with("HTTP/1.1 200 ") && head.ends_with("\r\n\r\n"), "{path}: {head}");
        let options = exchange(&address, &format!("OPTIONS {path} HTTP/1.1\r\n{CLOSE}\r\n")).await;
        assert!(
            options.starts_with("HTTP/1.1 204 ") && options.contains("\r\nallow: GET, HEAD, OPTIONS\r\n"),
            "{options}"
        );
        let closed = exchange(&address, &format!("GET {path} HTTP/1.1\r\n{CLOSE}\r\n")).await;
        let open = ["/", "/healthz", "/readyz", "/openapi.json"].contains(&path);
        assert!(closed.starts_with(if open { "HTTP/1.1 200 " } else { "HTTP/1.1 401 " }), "{path}: {closed}");
        assert!(closed.contains("\r\ncache-control: no-store\r\n"), "{path}: {closed}");
    }
    for malformed in ["Authorization:\r\n", "Authorization: Bearer\r\n", "Authorization: Bearer \u{e9}\r\n"] {
        let answer = exchange(&address, &format!("GET /metrics HTTP/1.1\r\n{CLOSE}{malformed}\r\n")).await;
        assert!(answer.starts_with("HTTP/1.1 401 ") && answer.contains("\r\nwww-authenticate: Bearer\r\n"), "{answer}");
    }
    running.signal(Signal::INT);
    assert_eq!(running.ended().await.code, Some(0));
}
