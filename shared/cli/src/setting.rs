//! The columns of the settings row that an operator may change, with their bounds and meanings.

/// What a setting holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A whole number; its place among the numbers of the change.
    Number(usize),
    /// A switch; its place among the switches of the change.
    Switch(usize),
}

/// One setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Setting {
    /// Its column.
    pub(crate) name: &'static str,
    /// What it holds.
    pub(crate) kind: Kind,
    /// What the database allows, as the end of the sentence "it must be …".
    pub(crate) bound: &'static str,
    /// What it decides.
    pub(crate) meaning: &'static str,
}

/// How many of the settings are numbers.
pub(crate) const NUMBERS: usize = 15;
/// How many of the settings are switches.
pub(crate) const SWITCHES: usize = 4;

/// The constraint over three settings at once.
pub(crate) const LEASE_COVERS_WORK: &str = "stats_projection_worker_settings_lease_covers_work";
/// What the names of the others begin with; the column follows.
const CONSTRAINT_PREFIX: &str = "stats_projection_worker_settings_";

const SWITCH_BOUND: &str = "true or false";

/// Every setting, in the order in which it is shown.
pub(crate) const ALL: [Setting; NUMBERS + SWITCHES] = [
    number(0, "claim_timeout_ms", "between 100 and 30000", "budget of one claim, milliseconds"),
    number(1, "compute_timeout_ms", "between 1000 and 600000", "budget of one compute, milliseconds"),
    number(
        2,
        "publish_timeout_ms",
        "at least 100 and below 8000, the save limit",
        "budget of one publish, milliseconds",
    ),
    number(
        3,
        "lease_seconds",
        "between 5 and 3600, and longer than compute and publish together",
        "how long a run is leased",
    ),
    number(4, "max_active", "between 1 and 1000", "live leases over all users"),
    number(5, "max_attempts", "between 1 and 20", "attempts before a refresh waits for an operator"),
    number(6, "backoff_seconds", "between 0 and 86400", "shortest wait after a failure"),
    number(7, "history_retention_days", "between 1 and 365", "how long finished jobs and runs are kept"),
    number(8, "work_timeout_ms", "between 100 and 840000", "how long one job may run, milliseconds"),
    number(9, "job_lease_seconds", "between 3 and 3600", "how long a job is leased; renewed while it runs"),
    number(
        10,
        "job_backoff_seconds",
        "between 0 and 86400",
        "wait after a job's first failure, doubled by each further one",
    ),
    number(11, "job_backoff_max_seconds", "between 1 and 86400", "longest wait after a job's failure"),
    number(12, "job_aging_seconds", "between 1 and 86400", "a waiting job gains one step of priority in this time"),
    number(
        13,
        "alert_oldest_pending_seconds",
        "between 10 and 86400",
        "a queue whose oldest due job waits longer stands still",
    ),
    number(14, "alert_tick_age_seconds", "between 10 and 86400", "a function whose last tick is older ticks no longer"),
    switch(0, "claim_enabled", "whether claim works; `tidemark pause claim` turns it off"),
    switch(1, "compute_enabled", "whether compute works"),
    switch(2, "publish_enabled", "whether publish works"),
    switch(3, "work_enabled", "whether background jobs run"),
];

const fn number(place: usize, name: &'static str, bound: &'static str, meaning: &'static str) -> Setting {
    Setting { name, kind: Kind::Number(place), bound, meaning }
}

const fn switch(place: usize, name: &'static str, meaning: &'static str) -> Setting {
    Setting { name, kind: Kind::Switch(place), bound: SWITCH_BOUND, meaning }
}

/// The setting of that name.
pub(crate) fn named(name: &str) -> Option<&'static Setting> {
    ALL.iter().find(|setting| setting.name == name)
}

/// The setting whose bound is the constraint of that name.
pub(crate) fn bounded_by(constraint: &str) -> Option<&'static Setting> {
    named(constraint.strip_prefix(CONSTRAINT_PREFIX)?)
}
