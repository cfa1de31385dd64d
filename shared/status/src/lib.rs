//! The status document over HTTP: one router, whoever serves it.
//!
//! The status function serves [`Router`] behind a function URL, the command line serves the same one on a local port.
//!
//! | path | token | answer |
//! |---|---|---|
//! | `GET /stats-process-refresh-jobs` | yes | `{"worker_status": <the status document>}` |
//! | `GET /` | no, its data yes | the page, self-contained |
//! | `GET /dashboard` | yes | what the page shows: the document, what needs attention in words, the last hour by the minute, what failed for good |
//! | `GET /healthz` | no | 200; no database is touched |
//! | `GET /readyz` | no | 200 or 503 with named checks and no figures |
//! | `GET /metrics` | yes | OpenMetrics text |
//! | `GET /openapi.json` | no | the description of all this, OpenAPI 3.1 |
//!
//! Every error has the shape `{"error":{"code","message"}}`. A request has no body; one over 16 KiB is refused unread. Where no token is configured, whatever needs one is closed.
//!
//! * [`Tokens`]: which tokens are valid;
//! * [`Document`]: the document's figures, typed; [`read`] fetches it as the database composed it;
//! * [`attention`]: what needs an operator, in words, with the next step;
//! * `readiness`, `metrics`, `page`: one room per answer.

pub mod attention;
mod document;
mod metrics;
mod page;
mod readiness;
mod reading;
mod response;
mod router;
mod statements;
mod tokens;

pub use document::{Document, Jobs, LastHour, Lease, Leases, Pause, Queue, Rebuild, Settings, Tick, Ticking};
pub use reading::read;
pub use router::Router;
pub use statements::{STATEMENTS, worker_functions};
pub use tokens::Tokens;
