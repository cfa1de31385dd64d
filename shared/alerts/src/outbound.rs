//! One POST to somewhere else: with limits, without redirects, and not to where it must not go.
//!
//! [`Client::post`] opens a connection of its own, sends one request with a JSON body over HTTP/1.1 and sorts the answer
//! by what the caller does next ([`Outcome`]). TLS is always checked: chain, dates and host name. No environment variable
//! and no proxy has a say. [`Reach`] says which addresses may be connected to; it is judged on the address that is
//! connected to, after the name was resolved, so that no spelling of a host and no change of a name's addresses gets past it.
//!
//! A response's status line decides. What follows is read up to [`ANSWER_BYTES_MAX`], because some receivers drop their
//! work when the client hangs up early, and is thrown away.
//!
//! | outcome | when |
//! |---|---|
//! | delivered | 2xx |
//! | retry | 408, 429, 5xx, honouring `Retry-After`; no connection; no answer in time; an answer that is no HTTP |
//! | permanent | every other status, 3xx among them; a URL that must not be called |
//!
//! | word of a [`Reason`] | means |
//! |---|---|
//! | `status N`, `redirect N` | the receiver answered so |
//! | `timeout`, `connect_timeout` | nobody answered, or let us connect, in time |
//! | `name_not_resolved`, `refused`, `unreachable`, `connection` | there was no connection |
//! | `certificate_expired`, `certificate_wrong_host`, `certificate_unknown_issuer`, `certificate_invalid`, `tls` | it could not be trusted |
//! | `closed`, `answer_invalid` | it broke off, or did not speak HTTP |
//! | `url_invalid`, `url_scheme`, `url_userinfo`, `address_refused`, `idempotency_key_invalid` | it was not sent |

mod answer;
mod client;
mod connection;
mod endpoint;
mod outcome;
mod reach;
mod retry_after;

pub use answer::ANSWER_BYTES_MAX;
pub use client::{Client, Post};
pub use connection::CONNECT_LIMIT;
pub(crate) use endpoint::Endpoint;
pub use outcome::{Outcome, Reason};
pub use reach::Reach;
pub use retry_after::RETRY_AFTER_MAX;
