//! Distances in metres.

use rust_decimal::{Decimal, RoundingStrategy};

use crate::{
    CellProblem,
    words::{Meaning, meaning},
};

/// Largest number accepted as a distance, whatever its unit.
pub(crate) const NUMBER_MAX: i64 = 99_999_999;

/// Longest distance accepted, in metres: what a saved workout may hold, so that an imported one can be edited.
const METERS_MAX: i64 = 99_999_999;

/// Decimals of a metre kept; more of them come from conversion only.
const DECIMALS_KEPT: u32 = 9;

/// A unit of distance an application writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Meter,
    Kilometer,
    Mile,
    Yard,
    Foot,
    Centimeter,
    Inch,
}

impl Unit {
    /// The unit by the word an application writes for it.
    pub(crate) fn of(word: &str) -> Option<Self> {
        use Meaning::{Centimeter, Foot, Inch, Kilometer, Meter, Mile, Yard};
        Some(match meaning(word, &[Meter, Kilometer, Mile, Yard, Foot, Centimeter, Inch])? {
            Kilometer => Self::Kilometer,
            Mile => Self::Mile,
            Yard => Self::Yard,
            Foot => Self::Foot,
            Centimeter => Self::Centimeter,
            Inch => Self::Inch,
            _ => Self::Meter,
        })
    }

    /// A number of this unit in metres, exact by the international yard and pound agreement of 1959.
    pub(crate) fn meters(self, number: Decimal) -> Result<Decimal, CellProblem> {
        let unit = match self {
            Self::Meter => Decimal::ONE,
            Self::Kilometer => Decimal::ONE_THOUSAND,
            Self::Mile => Decimal::new(1_609_344, 3),
            Self::Yard => Decimal::new(9_144, 4),
            Self::Foot => Decimal::new(3_048, 4),
            Self::Centimeter => Decimal::new(1, 2),
            Self::Inch => Decimal::new(254, 4),
        };
        let too_far = CellProblem::OutOfRange { min: 0, max: METERS_MAX };
        let meters = number.checked_mul(unit).ok_or(too_far)?;
        if meters > Decimal::from(METERS_MAX) {
            return Err(too_far);
        }
        Ok(meters.round_dp_with_strategy(DECIMALS_KEPT, RoundingStrategy::MidpointNearestEven).normalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distance_is_exact_in_metres() {
        let meters =
            |number, unit: &str| Unit::of(unit)?.meters(Decimal::new(number, 1)).ok().map(|far| far.to_string());
        assert_eq!(meters(50, "km").as_deref(), Some("5000"));
        assert_eq!(meters(15, "mi").as_deref(), Some("2414.016"));
        assert_eq!(meters(10, "Feet").as_deref(), Some("0.3048"));
        assert_eq!(meters(10, "league"), None);
    }

    #[test]
    fn a_distance_beyond_what_a_workout_may_hold_is_refused() {
        let far = Decimal::from(NUMBER_MAX);
        assert!(Unit::Meter.meters(far).is_ok());
        assert!(matches!(Unit::Mile.meters(far), Err(CellProblem::OutOfRange { .. })));
    }
}
