//! The status function's HTTP as others see it: fuzzed by its own description, read by a parser of OpenMetrics, and on the wire.
#![allow(clippy::unwrap_used)]

mod described;
mod gateway;
mod metrics;
mod python;
mod wire;

// The folder of the lane `local` serves here as well.
#[path = "../local/folder.rs"]
#[allow(dead_code)]
mod folder;

use tidemark_tests::until;

use crate::folder::{Folder, Running};

/// The token that the servers here are given, beside one that is being replaced.
const TOKEN: &str = "token-of-the-lane";
const TOKENS: &str = "token-of-before,token-of-the-lane";

/// `tidemark local` with the tokens of this lane, as soon as it is ready; and its address.
async fn local(folder: &Folder) -> (Running, String) {
    let mut running = folder.start_with(&[("STATUS_TOKENS", TOKENS)], &["local", "--port", "0"]);
    let line = running.until_says("status page http://").await;
    let address = line.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
    let ready = async || {
        let answer = wire::exchange(&address, &format!("GET /readyz HTTP/1.1\r\n{}\r\n", wire::CLOSE)).await;
        answer.starts_with("HTTP/1.1 200 ")
    };
    until("every function has ticked", ready).await;
    (running, address)
}
