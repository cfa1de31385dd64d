//! Distances in metres.

use rust_decimal::Decimal;

/// Largest number accepted as a distance, whatever its unit: ten thousand kilometres written in metres.
pub(crate) const NUMBER_MAX: i64 = 10_000_000;

/// A unit of distance an application writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Meter,
    Kilometer,
    Mile,
    Yard,
    Foot,
}

impl Unit {
    /// The unit by the word an application writes for it.
    pub(crate) fn of(word: &str) -> Option<Self> {
        Some(match word.trim().to_lowercase().as_str() {
            "m" | "meter" | "meters" | "metre" | "metres" => Self::Meter,
            "km" | "kilometer" | "kilometers" | "kilometre" | "kilometres" => Self::Kilometer,
            "mi" | "mile" | "miles" => Self::Mile,
            "yd" | "yard" | "yards" => Self::Yard,
            "ft" | "foot" | "feet" => Self::Foot,
            _ => return None,
        })
    }

    /// A number of this unit in metres, exact by the international yard and pound agreement of 1959.
    pub(crate) fn meters(self, number: Decimal) -> Decimal {
        let meters = match self {
            Self::Meter => Decimal::ONE,
            Self::Kilometer => Decimal::ONE_THOUSAND,
            Self::Mile => Decimal::new(1_609_344, 3),
            Self::Yard => Decimal::new(9_144, 4),
            Self::Foot => Decimal::new(3_048, 4),
        };
        (number * meters).normalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distance_is_exact_in_metres() {
        let meters = |number, unit: &str| Unit::of(unit).map(|unit| unit.meters(Decimal::new(number, 1)).to_string());
        assert_eq!(meters(50, "km").as_deref(), Some("5000"));
        assert_eq!(meters(15, "mi").as_deref(), Some("2414.016"));
        assert_eq!(meters(10, "Feet").as_deref(), Some("0.3048"));
        assert_eq!(meters(10, "league"), None);
    }
}
