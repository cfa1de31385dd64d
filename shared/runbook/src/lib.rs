//! Which section of `docs/OPERATIONS.md` tells what to do about a symptom.
//!
//! Readiness, the status document's readers and the alerts name the same section for the same trouble, because all of them ask
//! [`Symptom`].

/// What an operator meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symptom {
    /// The database does not answer, or refuses the connection.
    DatabaseUnreachable,
    /// The schema is older than the build, newer, or not there.
    SchemaMismatch,
    /// A function has not ticked for longer than `alert_tick_age_seconds`, or never.
    FunctionNotTicking,
    /// The settings row pauses a function.
    FunctionPaused,
    /// Leases are over and nobody took the work back.
    LeasesNotRecovered,
    /// The oldest due work has waited for longer than `alert_oldest_pending_seconds`.
    QueueStandingStill,
    /// A user's refresh has used up its attempts.
    RefreshExhausted,
    /// What was computed for a user could not be published.
    PublishFailed,
    /// Attempts of refreshes failed in the last hour and are tried again.
    AttemptsFailed,
    /// A rebuild was cancelled or could not reach everybody, or an older release ticks beside a newer one.
    Rebuild,
    /// Jobs have used up their attempts or failed for good.
    JobDead,
    /// Jobs have been running for very long.
    JobsStuck,
    /// Jobs were given up over their deadline.
    JobsOverDeadline,
    /// Alerts are not over.
    OpenAlerts,
    /// A transaction that has been open for long keeps vacuum from removing anything.
    OldSnapshot,
    /// A schedule has an expression or a zone that is of no use.
    ScheduleRefused,
    /// Somebody tried whether alerts arrive.
    Test,
}

impl Symptom {
    /// Every symptom.
    pub const ALL: [Self; 17] = [
        Self::DatabaseUnreachable,
        Self::SchemaMismatch,
        Self::FunctionNotTicking,
        Self::FunctionPaused,
        Self::LeasesNotRecovered,
        Self::QueueStandingStill,
        Self::RefreshExhausted,
        Self::PublishFailed,
        Self::AttemptsFailed,
        Self::Rebuild,
        Self::JobDead,
        Self::JobsStuck,
        Self::JobsOverDeadline,
        Self::OpenAlerts,
        Self::OldSnapshot,
        Self::ScheduleRefused,
        Self::Test,
    ];

    /// The section that tells what to do: a path in the repository with the anchor of a heading.
    #[must_use]
    pub const fn section(self) -> &'static str {
        match self {
            Self::DatabaseUnreachable => "docs/OPERATIONS.md#database_unreachable",
            Self::SchemaMismatch => "docs/OPERATIONS.md#schema_mismatch",
            Self::FunctionNotTicking => "docs/OPERATIONS.md#function_not_ticking",
            Self::FunctionPaused => "docs/OPERATIONS.md#function_paused",
            Self::LeasesNotRecovered => "docs/OPERATIONS.md#leases_not_recovered",
            Self::QueueStandingStill => "docs/OPERATIONS.md#queue_standing_still",
            Self::RefreshExhausted => "docs/OPERATIONS.md#refresh_exhausted",
            Self::PublishFailed => "docs/OPERATIONS.md#publish_failed",
            Self::AttemptsFailed => "docs/OPERATIONS.md#attempts_failed",
            Self::Rebuild => "docs/OPERATIONS.md#rebuilding-everybodys-figures",
            Self::JobDead => "docs/OPERATIONS.md#job_dead",
            Self::JobsStuck => "docs/OPERATIONS.md#jobs_stuck",
            Self::JobsOverDeadline => "docs/OPERATIONS.md#jobs_over_deadline",
            Self::OpenAlerts => "docs/OPERATIONS.md#open_alerts",
            Self::OldSnapshot => "docs/OPERATIONS.md#old_snapshot",
            Self::ScheduleRefused => "docs/OPERATIONS.md#schedule_refused",
            Self::Test => "docs/OPERATIONS.md#test",
        }
    }

    /// The symptom of a kind of alert, which is named like its section; none for a kind that this build does not know.
    #[must_use]
    pub fn of_alert(kind: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|symptom| symptom.section().split_once('#').is_some_and(|(_file, name)| name == kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The anchors of a guide's headings, as its readers make them: lower case, blanks as hyphens, other marks left out.
    fn anchors(guide: &str) -> Vec<String> {
        let headings = guide.lines().filter_map(|line| line.strip_prefix("## "));
        let anchor = |heading: &str| {
            let kept = heading.trim().to_lowercase().replace(' ', "-");
            kept.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, '-' | '_')).collect()
        };
        headings.map(anchor).collect()
    }

    #[test]
    fn every_symptom_has_a_section_in_the_operations_guide() {
        let anchors = anchors(include_str!("../../../docs/OPERATIONS.md"));
        for symptom in Symptom::ALL {
            let anchor = symptom.section().strip_prefix("docs/OPERATIONS.md#").expect("the guide's path");
            assert!(anchors.iter().any(|known| known == anchor), "{symptom:?}: there is no section {anchor}");
        }
    }

    #[test]
    fn two_symptoms_never_share_a_section() {
        let mut sections = Symptom::ALL.map(Symptom::section);
        sections.sort_unstable();
        assert!(sections.windows(2).all(|pair| pair[0] != pair[1]), "{sections:?}");
    }

    #[test]
    fn an_alert_has_the_section_of_its_kind() {
        assert_eq!(Symptom::of_alert("old_snapshot"), Some(Symptom::OldSnapshot));
        assert_eq!(Symptom::of_alert("moon_fell"), None);
    }
}
