//! What the command line accepts.

use clap::{Parser, Subcommand};

use crate::commands::{
    alerts, audit, bench, doctor, import, jobs, local, migrate, pause, refresh, settings, stats, status, tick,
};

/// Keeps per-user statistics fresh inside the Postgres an application already has.
#[derive(Debug, Parser)]
#[command(name = "tidemark", version, about, max_term_width = 110)]
#[command(after_help = "Examples:\n  \
    tidemark local --import workouts.csv --until-fresh   the whole system on this machine, until the figures are fresh\n  \
    tidemark status --watch                              what needs attention, refreshed every second\n\n\
    The database is --database-url, else DATABASE_URL, else the embedded PostgreSQL that `tidemark local` keeps.")]
pub(crate) struct Arguments {
    /// The database, as postgres://user:password@host/name
    #[arg(long, global = true, env = "DATABASE_URL", hide_env_values = true, value_name = "URL")]
    pub(crate) database_url: Option<String>,
    /// One JSON document on stdout instead of text; logs and progress go to stderr
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Logs on stderr (twice for more)
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// What to do
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the whole system on this machine: database, imports, ticks every second, status
    Local(local::Options),
    /// Apply migrations under a lock
    Migrate(migrate::Options),
    /// Import a workout export for one user
    Import(import::Options),
    /// Show the published statistics of one user
    Stats(stats::Options),
    /// Show what the system is doing and what needs attention
    Status(status::Options),
    /// Show or change the settings row
    Settings(settings::Options),
    /// Pause functions from the next tick on
    Pause(pause::PauseOptions),
    /// Resume paused functions
    Resume(pause::ResumeOptions),
    /// Ask for refreshes and resume failed ones
    Refresh(refresh::Options),
    /// Look at the general queue: list, show, enqueue, requeue and cancel jobs
    Jobs(jobs::Options),
    /// List alerts, and test whether they arrive
    Alerts(alerts::Options),
    /// Show who changed what by hand, and why
    Audit(audit::Options),
    /// Check connection, schema, roles, clock, ticks, vacuum and settings, each with its remedy
    Doctor(doctor::Options),
    /// Measure this build on this machine against its goals
    Bench(bench::Options),
    /// Run one invocation of a function, for a machine with a timer
    Tick(tick::Options),
}
