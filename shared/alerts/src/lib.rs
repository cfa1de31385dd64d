//! Alerts as messages for Teams, Slack and receivers of JSON, and the HTTP client that delivers them.
//!
//! Knows no database and no Lambda: whoever has alerts makes a [`Digest`] of them and calls [`deliver`].
//!
//! * [`Alert`]: one row of the outbox, raised or resolved;
//! * [`Guidance`]: the title of a known kind, and what to do about it;
//! * [`Digest`]: many alerts as one message per target; `teams`, `slack` and `json` render it;
//! * [`Targets`]: where to send, read from a secret document;
//! * [`deliver`]: sends a digest to each target on its own;
//! * [`outbound`]: one POST with limits, no redirects and a guard against inner addresses; job handlers use it as well.
//!
//! `docs/ALERTS.md` tells operators the kinds, the document of targets and the JSON shape.
//!
//! URLs of targets are secrets: no `Debug`, `Display`, error or [`outbound::Outcome`] shows a part of one.

mod alert;
mod delivery;
mod digest;
mod entry;
mod guidance;
mod json;
pub mod outbound;
mod plain_text;
mod slack;
mod target;
mod targets;
mod teams;

pub use alert::Alert;
pub use delivery::{Delivery, deliver};
pub use digest::{Digest, LISTED_MAX};
pub use guidance::Guidance;
pub use json::{JSON_VERSION, SUBJECT_CHARACTERS_MAX};
pub use slack::{SLACK_BLOCKS_MAX, SLACK_TEXT_CHARACTERS_MAX};
pub use target::{Target, TargetKind};
pub use targets::{TARGETS_MAX, Targets, TargetsError};
pub use teams::TEAMS_BYTES_MAX;
