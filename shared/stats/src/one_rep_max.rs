//! Estimated one-rep maxima, kept as exact fractions.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::mass::Kilograms;
use crate::names::written_names;

/// Above this number of repetitions no published formula is accurate, and no estimate is made.
pub const ESTIMATE_REPS_MAX: u8 = 12;
/// Decimals to which an estimate is rounded where it is written out.
const ESTIMATE_DECIMALS: u32 = 6;
/// Brzycki's line reaches zero here: 37 − reps.
const BRZYCKI_REPS_END: i128 = 37;

/// A published formula of the estimated one-rep max. One repetition is its own maximum in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Formula {
    /// 36·w / (37 − r) (Brzycki, 1993); none from 37 repetitions on.
    Brzycki,
    /// w·(1 + r/30) (Epley, 1985).
    Epley,
}

written_names!(Formula, "brzycki or epley", Brzycki => "brzycki", Epley => "epley");

/// An estimated one-rep max in kilograms: an exact fraction, rounded only on output.
#[derive(Debug, Clone, Copy)]
pub struct OneRepMax {
    numerator: Kilograms,
    divisor: i128,
}

impl OneRepMax {
    /// The estimate in kilograms, half to even at six decimals.
    pub fn rounded(self) -> Kilograms {
        self.numerator.divided_and_rounded(self.divisor, ESTIMATE_DECIMALS)
    }
}

impl Ord for OneRepMax {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.numerator.steps() * other.divisor).cmp(&(other.numerator.steps() * self.divisor))
    }
}

impl PartialOrd for OneRepMax {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for OneRepMax {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for OneRepMax {}

/// The estimated one-rep max of `load` lifted `reps` times.
///
/// None for a load of zero or less, for no repetitions, above `max_reps`, where the formula ends, and for a load so
/// large (above 10¹⁶ kg) that two estimates could not be compared exactly.
pub fn one_rep_max(formula: Formula, load: Kilograms, reps: i32, max_reps: u8) -> Option<OneRepMax> {
    if load <= Kilograms::ZERO || reps < 1 || reps > i32::from(max_reps) {
        return None;
    }
    let reps = i128::from(reps);
    let (factor, divisor) = match formula {
        _ if reps == 1 => (1, 1),
        Formula::Brzycki if reps < BRZYCKI_REPS_END => (36, BRZYCKI_REPS_END - reps),
        Formula::Brzycki => return None,
        Formula::Epley => (30 + reps, 30),
    };
    let numerator = load.steps().checked_mul(factor)?;
    // Comparing multiplies by the other divisor, which is at most 36.
    numerator.checked_mul(36)?;
    Some(OneRepMax { numerator: Kilograms::from_steps(numerator), divisor })
}
