//! Values that are more likely a slip than a lift. They are stored, flagged and counted in volumes, and kept out of
//! records, estimates and rep maxima.

use crate::mass::Kilograms;

/// A weight written or moved above this, in kilograms, is suspect: no exercise with free weights is lifted heavier for
/// repetitions, and pounds read as something else land above it.
pub const SUSPECT_WEIGHT_KILOGRAMS_ABOVE: i64 = 700;
/// Repetitions of one set above this are suspect.
pub const SUSPECT_REPS_ABOVE: i32 = 1000;
/// A workout longer than this, in seconds (24 hours), is suspect, and every set in it.
pub const SUSPECT_WORKOUT_SECONDS_ABOVE: i64 = 24 * 60 * 60;

/// Whether a mass is too large to be believed.
pub(crate) fn is_suspect_mass(mass: Kilograms) -> bool {
    mass.abs() > Kilograms::whole(SUSPECT_WEIGHT_KILOGRAMS_ABOVE)
}

/// Whether a number of repetitions is too large to be believed.
pub(crate) fn are_suspect_reps(reps: i32) -> bool {
    reps > SUSPECT_REPS_ABOVE
}

/// Whether a workout is too long to be believed.
pub(crate) fn is_suspect_duration(seconds: i64) -> bool {
    seconds > SUSPECT_WORKOUT_SECONDS_ABOVE
}
