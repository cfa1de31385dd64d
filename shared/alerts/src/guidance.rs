//! What an operator is told about a kind of alert.

/// The title of a known kind, and what to do about it. Both are plain text without markup of any target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guidance {
    /// The kind in the outbox; also the section of `docs/OPERATIONS.md` that tells more.
    pub kind: &'static str,
    /// A few words that say what happened.
    pub title: &'static str,
    /// The next step, with the section of `docs/OPERATIONS.md`.
    pub what_to_do: &'static str,
}

/// The title of a kind that is not known, which a newer database may raise.
pub(crate) const UNKNOWN_TITLE: &str = "Alert";

/// Every known kind.
const KNOWN: [Guidance; 9] = [
    Guidance {
        kind: "refresh_exhausted",
        title: "A user's refresh has used up its attempts",
        what_to_do: "Mend the cause that the code names, then run tidemark refresh resume with the user: \
                     docs/OPERATIONS.md#refresh_exhausted",
    },
    Guidance {
        kind: "publish_failed",
        title: "Statistics could not be published",
        what_to_do: "It is tried again by itself; look at what the code names when it goes on: \
                     docs/OPERATIONS.md#publish_failed",
    },
    Guidance {
        kind: "job_dead",
        title: "A job is dead",
        what_to_do: "Read the job's last error, mend the cause, then requeue the job: \
                     docs/OPERATIONS.md#job_dead",
    },
    Guidance {
        kind: "queue_standing_still",
        title: "A queue stands still",
        what_to_do: "See with tidemark status whether functions are paused or do not tick: \
                     docs/OPERATIONS.md#queue_standing_still",
    },
    Guidance {
        kind: "leases_not_recovered",
        title: "Expired leases are not recovered",
        what_to_do: "See that claim ticks, and which session holds the locks: \
                     docs/OPERATIONS.md#leases_not_recovered",
    },
    Guidance {
        kind: "function_not_ticking",
        title: "A function no longer ticks",
        what_to_do: "Look at the function's schedule and at its last log lines: \
                     docs/OPERATIONS.md#function_not_ticking",
    },
    Guidance {
        kind: "old_snapshot",
        title: "An old snapshot blocks vacuum",
        what_to_do: "Find the oldest transaction in pg_stat_activity and end it: \
                     docs/OPERATIONS.md#old_snapshot",
    },
    Guidance {
        kind: "schedule_refused",
        title: "A schedule does not fire",
        what_to_do: "Read the schedule's error in public.schedules and correct its expression or zone: \
                     docs/OPERATIONS.md#schedule_refused",
    },
    Guidance {
        kind: "test",
        title: "A test of the alert targets",
        what_to_do: "Nothing is wrong: somebody tried whether alerts arrive; docs/OPERATIONS.md#test",
    },
];

impl Guidance {
    /// What is known about `kind`; `None` for a kind that this build does not know.
    #[must_use]
    pub fn of(kind: &str) -> Option<&'static Self> {
        KNOWN.iter().find(|guidance| guidance.kind == kind)
    }

    /// Every known kind.
    #[must_use]
    pub fn all() -> &'static [Self] {
        &KNOWN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_kind_names_the_section_that_readiness_and_status_name_too() {
        for guidance in Guidance::all() {
            let symptom = tidemark_runbook::Symptom::of_alert(guidance.kind).expect("it is a symptom of the runbook");
            assert!(guidance.what_to_do.ends_with(symptom.section()), "{guidance:?}");
            assert_eq!(Guidance::of(guidance.kind), Some(guidance));
        }
    }

    #[test]
    fn guidance_holds_no_markup_of_a_target() {
        for guidance in Guidance::all() {
            for text in [guidance.title, guidance.what_to_do] {
                assert!(!text.contains(['*', '~', '`', '<', '>', '&', '[', ']', '\n']), "{text}");
                assert!(text.chars().count() <= 200, "{text}");
            }
        }
    }

    #[test]
    fn a_kind_of_tomorrow_is_not_known() {
        assert_eq!(Guidance::of("moon_fell"), None);
    }
}
