//! What one set says, before it is added to anything.

use rust_decimal::Decimal;

use crate::catalogue::CatalogueEntry;
use crate::history::{LoadKind, Profile, Set};
use crate::load::effective_load;
use crate::mass::Kilograms;
use crate::one_rep_max::{ESTIMATE_REPS_MAX, OneRepMax, one_rep_max};
use crate::suspect::{are_suspect_reps, is_suspect_mass};
use crate::timeline::TimelineEntry;

/// The facts of one set row.
#[derive(Debug)]
pub(crate) struct SetFacts {
    pub(crate) is_working: bool,
    pub(crate) is_suspect: bool,
    /// Repetitions done, with both sides where they are written for one.
    pub(crate) reps: u64,
    /// How long it was held or done, 0 where nothing is written.
    pub(crate) duration_seconds: u64,
    /// Zero repetitions, and neither held nor moved for any time or distance.
    pub(crate) is_attempt: bool,
    /// The weight written × reps, whatever the exercise.
    pub(crate) logged_volume: Kilograms,
    /// Effective load × reps × implements × sides; 0 where the load is unknown or not positive.
    pub(crate) effective_volume: Kilograms,
    /// The figures that may stand in records.
    pub(crate) feat: Option<Feat>,
}

/// What a set puts up for records: nothing of it is zero. Warm-ups, attempts and suspect sets put up none.
#[derive(Debug)]
pub(crate) struct Feat {
    pub(crate) reps: Option<i32>,
    pub(crate) load: Option<Kilograms>,
    pub(crate) volume: Option<Kilograms>,
    pub(crate) estimate: Option<OneRepMax>,
    pub(crate) assistance: Option<Kilograms>,
}

impl SetFacts {
    pub(crate) fn of(set: &Set, exercise: &CatalogueEntry<'_>, workout: &TimelineEntry, profile: &Profile) -> Self {
        let written = set.weight.map(|weight| weight.to_kilograms());
        let load = effective_load(exercise, written, workout.bodyweight);
        let counted_reps = set.reps.unwrap_or(0);
        let effective_volume = match load {
            Some(load) if load > Kilograms::ZERO => load * counted_reps * exercise.implements * exercise.sides,
            _ => Kilograms::ZERO,
        };
        let is_suspect = workout.suspect
            || are_suspect_reps(counted_reps)
            || written.is_some_and(is_suspect_mass)
            || load.is_some_and(is_suspect_mass);
        let is_working = set.kind.is_working();
        let may_stand = is_working && !is_suspect;
        Self {
            is_working,
            is_suspect,
            reps: u64::from(counted_reps.unsigned_abs()) * u64::from(exercise.sides.unsigned_abs()),
            duration_seconds: set.duration_seconds.map_or(0, i64::unsigned_abs),
            is_attempt: set.reps == Some(0) && !is_timed_or_moved(set),
            logged_volume: written.map_or(Kilograms::ZERO, |written| written * counted_reps),
            effective_volume,
            feat: may_stand.then(|| feat(set, exercise, written, load, effective_volume, profile)),
        }
    }
}

/// Exports write 0 repetitions for a set that was held or moved; that is a performed set and no attempt.
fn is_timed_or_moved(set: &Set) -> bool {
    set.duration_seconds.is_some_and(|seconds| seconds > 0)
        || set.distance_meters.is_some_and(|meters| meters > Decimal::ZERO)
}

fn feat(
    set: &Set,
    exercise: &CatalogueEntry<'_>,
    written: Option<Kilograms>,
    load: Option<Kilograms>,
    volume: Kilograms,
    profile: &Profile,
) -> Feat {
    let reps = set.reps.filter(|&reps| reps > 0);
    let is_done = reps.is_some() || is_timed_or_moved(set);
    let load = load.filter(|&load| is_done && load > Kilograms::ZERO);
    let max_reps = profile.estimate_max_reps.min(ESTIMATE_REPS_MAX);
    Feat {
        reps,
        load,
        volume: reps.and(load).map(|_| volume),
        estimate: load.zip(reps).and_then(|(load, reps)| one_rep_max(profile.formula, load, reps, max_reps)),
        assistance: written.filter(|_| is_done && exercise.load == LoadKind::Assisted).map(Kilograms::abs),
    }
}
