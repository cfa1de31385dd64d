//! `template.yaml` against the tools of its makers, against the migrations and documents, and its state machine run for real.
#![allow(clippy::unwrap_used)]

mod alarms;
mod budgets;
mod connections;
mod functions;
mod logs;
mod mutations;
mod policies;
mod rules;
mod scenario;
mod schedule;
mod surface;
mod template;
mod tick_plan;
mod tools;
