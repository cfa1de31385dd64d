//! What a receiver answered.

use http::HeaderMap;
use http_body_util::BodyExt;
use hyper::body::Body;
use jiff::Timestamp;

use super::outcome::{Outcome, Reason};
use super::retry_after::retry_after;

/// Bytes of an answer's body that are read before the connection is closed.
pub const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// Sorts an answer by its status.
pub(super) fn outcome_of(status: u16, headers: &HeaderMap, now: Timestamp) -> Outcome {
    match status {
        200..=299 => Outcome::Delivered,
        300..=399 => Outcome::Permanent { reason: Reason::with_status("redirect", status) },
        408 | 429 | 500.. => {
            Outcome::Retry { after: retry_after(headers, now), reason: Reason::with_status("status", status) }
        }
        _ => Outcome::Permanent { reason: Reason::with_status("status", status) },
    }
}

/// Reads `body` to its end, or until it breaks, or until [`ANSWER_BYTES_MAX`] have come, and keeps nothing.
pub(super) async fn discard(body: impl Body<Data = bytes::Bytes>) {
    let mut body = std::pin::pin!(body);
    let mut read = 0;
    while read < ANSWER_BYTES_MAX {
        match body.frame().await {
            Some(Ok(frame)) => read += frame.data_ref().map_or(0, bytes::Bytes::len),
            Some(Err(_)) | None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use bytes::Bytes;
    use hyper::body::Frame;

    use super::*;

    /// Never ends, and counts what is taken of it.
    struct Endless<'a>(&'a mut usize);

    impl Body for Endless<'_> {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            *self.0 += 1024;
            Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[b'x'; 1024])))))
        }
    }

    #[tokio::test]
    async fn an_endless_body_is_read_to_the_limit_and_no_further() {
        let mut taken = 0;
        discard(Endless(&mut taken)).await;
        assert_eq!(taken, ANSWER_BYTES_MAX);
    }

    #[test]
    fn a_status_decides_what_is_done_next() {
        let word = |status: u16| match outcome_of(status, &HeaderMap::new(), Timestamp::UNIX_EPOCH) {
            Outcome::Delivered => "delivered".to_owned(),
            Outcome::Retry { after: None, reason } => format!("retry: {reason}"),
            Outcome::Retry { after, .. } => format!("retry after {after:?}"),
            Outcome::Permanent { reason } => format!("permanent: {reason}"),
        };
        for status in [200, 201, 202, 204, 299] {
            assert_eq!(word(status), "delivered");
        }
        for status in [408, 429, 500, 501, 502, 503, 504, 599, 999] {
            assert_eq!(word(status), format!("retry: status {status}"));
        }
        for status in [300, 301, 302, 304, 307, 308] {
            assert_eq!(word(status), format!("permanent: redirect {status}"));
        }
        for status in [101, 400, 401, 403, 404, 409, 410, 413, 422, 425, 451] {
            assert_eq!(word(status), format!("permanent: status {status}"));
        }
    }
}
