//! One weight in two units side by side, as FitNotes writes it on iOS: one was typed, the other is its conversion.

use rust_decimal::Decimal;

use crate::{column::Stated, number};

/// Kilograms in a pound, exact by the international yard and pound agreement of 1959.
const KILOGRAMS_PER_POUND: Decimal = Decimal::from_parts(45_359_237, 0, 0, false, 8);

/// How far a conversion may be off, in halves of its last decimal: a rounded half, and somewhat more for a rounded factor.
const SLACK_PERCENT: i64 = 120;

/// Which of the two cells was typed, if they say the same weight: the one whose conversion the other is. Where each could be
/// the other's, the rounder number, and kilograms where that does not tell either.
pub(crate) fn typed(cells: [(&str, Stated); 2]) -> Option<usize> {
    let place_of = |unit| cells.iter().position(|&(_, stated)| stated == unit);
    let (kilograms, pounds) = (place_of(Stated::Kilograms)?, place_of(Stated::Pounds)?);
    let value = |place: usize| number::decimal(cells[place].0, -999_999, 999_999).ok().flatten();
    let (in_kilograms, in_pounds) = (value(kilograms)?, value(pounds)?);
    let kilograms_fit = is_near(in_pounds, in_kilograms / KILOGRAMS_PER_POUND, cells[pounds].0);
    let pounds_fit = is_near(in_kilograms, in_pounds * KILOGRAMS_PER_POUND, cells[kilograms].0);
    match (kilograms_fit, pounds_fit) {
        (true, true) if in_pounds.scale() < in_kilograms.scale() => Some(pounds),
        (true, _) => Some(kilograms),
        (false, true) => Some(pounds),
        (false, false) => None,
    }
}

/// Whether a cell is the rounding of an exact value to as many decimals as it shows, one at least.
fn is_near(written: Decimal, exact: Decimal, cell: &str) -> bool {
    let decimals = cell.find(['.', ',']).map_or(0, |point| cell.len() - point - 1).clamp(1, 9);
    let half = Decimal::new(5, u32::try_from(decimals).unwrap_or(9) + 1);
    (written - exact).abs() <= half * Decimal::new(SLACK_PERCENT, 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_typed_weight_is_found_beside_its_conversion() {
        let typed_unit = |kilograms, pounds| {
            typed([(kilograms, Stated::Kilograms), (pounds, Stated::Pounds)]).map(|place| ["kg", "lb"][place])
        };
        assert_eq!(typed_unit("40.00", "88.18"), Some("kg"));
        assert_eq!(typed_unit("42.50", "93.70"), Some("kg"));
        assert_eq!(typed_unit("100", "220.5"), Some("kg"));
        assert_eq!(typed_unit("61.23", "135.00"), Some("lb"));
        assert_eq!(typed_unit("102.06", "225"), Some("lb"));
        assert_eq!(typed_unit("0.00", "0.00"), Some("kg"));
        assert_eq!(typed_unit("60", "135"), None);
        assert_eq!(typed_unit("61", "135"), None);
        assert_eq!(typed_unit("heavy", "135"), None);
        assert_eq!(typed([("135", Stated::Pounds), ("61.23", Stated::Kilograms)]), Some(0));
    }
}
