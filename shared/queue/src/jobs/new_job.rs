//! A job to be enqueued, and the limits that it must keep.

use std::time::Duration;

use serde_json::Value;

use super::json;

/// Longest payload, in bytes of its text as the server writes it.
pub const PAYLOAD_BYTES: usize = 1_048_576;
/// Longest dedupe key, in bytes of UTF-8.
pub const DEDUPE_KEY_BYTES: usize = 500;
/// Longest group key, in bytes of UTF-8.
pub const GROUP_KEY_BYTES: usize = 200;
/// Longest delay: 365 days.
pub const DELAY_MAX: Duration = Duration::from_secs(31_536_000);
/// Most attempts that a job may have.
pub const ATTEMPTS_LIMIT: i32 = 100;
/// Priority where none is named; a lower number comes first.
pub const PRIORITY: i32 = 100;
/// Highest priority number; its negative is the lowest.
pub const PRIORITY_LIMIT: i32 = 1_000_000;
/// Attempts where none are named.
pub const STANDARD_ATTEMPTS: i32 = 3;

/// A job to be enqueued.
#[derive(Debug, Clone, PartialEq)]
pub struct NewJob {
    /// Which handler it is for, from 1.
    pub job_type: i32,
    /// What the handler is given; at most [`PAYLOAD_BYTES`] as text.
    pub payload: Value,
    /// At most one active job has the key; `None` for any number.
    pub dedupe_key: Option<String>,
    /// A lower number comes first, from -[`PRIORITY_LIMIT`] to [`PRIORITY_LIMIT`]; waiting improves it.
    pub priority: i32,
    /// How long it waits before it can be claimed.
    pub delay: Duration,
    /// How many attempts it has before it is dead, 1 to [`ATTEMPTS_LIMIT`].
    pub max_attempts: i32,
    /// Jobs of one type with the same key take turns with other groups and may be limited in number (`public.job_limits`).
    pub group_key: Option<String>,
}

impl NewJob {
    /// A job of `job_type` with priority [`PRIORITY`], [`STANDARD_ATTEMPTS`] attempts, no delay, no key and no group.
    #[must_use]
    pub fn new(job_type: i32, payload: Value) -> Self {
        Self {
            job_type,
            payload,
            dedupe_key: None,
            priority: PRIORITY,
            delay: Duration::ZERO,
            max_attempts: STANDARD_ATTEMPTS,
            group_key: None,
        }
    }

    /// With this dedupe key.
    #[must_use]
    pub fn dedupe_key(mut self, key: impl Into<String>) -> Self {
        self.dedupe_key = Some(key.into());
        self
    }

    /// With this priority.
    #[must_use]
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Not before `delay` has passed.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// With this many attempts.
    #[must_use]
    pub fn max_attempts(mut self, attempts: i32) -> Self {
        self.max_attempts = attempts;
        self
    }

    /// In this group.
    #[must_use]
    pub fn group_key(mut self, key: impl Into<String>) -> Self {
        self.group_key = Some(key.into());
        self
    }

    /// Length of its payload as text.
    ///
    /// # Errors
    /// What is wrong with the job: the field and the rule, never the value.
    pub(super) fn check(&self) -> Result<usize, String> {
        if self.job_type < 1 {
            return Err("job_type must be from 1 to 2147483647".to_owned());
        }
        if !(-PRIORITY_LIMIT..=PRIORITY_LIMIT).contains(&self.priority) {
            return Err(format!("priority must be from -{PRIORITY_LIMIT} to {PRIORITY_LIMIT}"));
        }
        if !(1..=ATTEMPTS_LIMIT).contains(&self.max_attempts) {
            return Err(format!("max_attempts must be from 1 to {ATTEMPTS_LIMIT}"));
        }
        if self.delay > DELAY_MAX {
            return Err(format!("delay must be at most {} seconds (a year)", DELAY_MAX.as_secs()));
        }
        check_key("dedupe_key", self.dedupe_key.as_deref(), DEDUPE_KEY_BYTES)?;
        check_key("group_key", self.group_key.as_deref(), GROUP_KEY_BYTES)?;
        json::measure(&self.payload, PAYLOAD_BYTES).map_err(|what| format!("payload {what}"))
    }
}

fn check_key(name: &str, key: Option<&str>, bytes_max: usize) -> Result<(), String> {
    match key {
        Some(key) if key.contains('\0') => Err(format!("{name} holds U+0000, which the database cannot store")),
        Some(key) if key.is_empty() || key.len() > bytes_max => Err(format!("{name} must have 1 to {bytes_max} bytes")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_limit_is_named_with_its_field_and_never_with_the_value() {
        let job = || NewJob::new(7, json!({"canary": 1}));
        let long = "canary".repeat(100);
        let refused = [
            (NewJob::new(0, json!({})), "job_type"),
            (job().priority(PRIORITY_LIMIT + 1), "priority"),
            (job().priority(i32::MIN), "priority"),
            (job().max_attempts(0), "max_attempts"),
            (job().max_attempts(101), "max_attempts"),
            (job().delay(DELAY_MAX + Duration::from_millis(1)), "delay"),
            (job().delay(Duration::MAX), "delay"),
            (job().dedupe_key(""), "dedupe_key"),
            (job().dedupe_key(long.clone()), "dedupe_key"),
            (job().dedupe_key("canary\0"), "dedupe_key"),
            (job().group_key(long), "group_key"),
            (job().group_key("\0"), "group_key"),
            (NewJob::new(7, json!(["canary\0"])), "payload"),
            (NewJob::new(7, json!("x".repeat(PAYLOAD_BYTES - 1))), "payload"),
        ];
        for (job, field) in refused {
            let problem = job.check().expect_err("it cannot be stored");
            assert!(problem.starts_with(field), "{problem}");
            assert!(!problem.contains("canary"), "{problem}");
        }
        assert!(job().delay(DELAY_MAX).max_attempts(100).dedupe_key("k".repeat(500)).check().is_ok());
        let widest = NewJob::new(i32::MAX, json!("x".repeat(PAYLOAD_BYTES - 2))).priority(-PRIORITY_LIMIT);
        assert_eq!(widest.check(), Ok(PAYLOAD_BYTES));
    }
}
