//! Numbers as applications write them.

use std::borrow::Cow;

use rust_decimal::{Decimal, RoundingStrategy, prelude::ToPrimitive};

use crate::CellProblem;

/// Decimals kept. Applications that keep weights as binary floats write things like `61.23496994999999`; the ninth decimal
/// of a kilogram is a microgram, so what is cut is noise and never something typed.
const DECIMALS_KEPT: u32 = 9;

/// Longest text read as a number, in bytes: sign, 28 digits, point and exponent.
const NUMBER_BYTES_MAX: usize = 40;

/// The number in a cell, from `min` to `max`; blank is none.
pub(crate) fn decimal(cell: &str, min: i64, max: i64) -> Result<Option<Decimal>, CellProblem> {
    let cell = cell.trim();
    if cell.is_empty() {
        return Ok(None);
    }
    let pointed = with_point(cell)?;
    let cell = pointed.as_ref();
    // The decimal crate also reads underscores, which no application writes.
    let written_as_number = cell.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E'));
    if !written_as_number || cell.len() > NUMBER_BYTES_MAX {
        return Err(CellProblem::NotANumber);
    }
    let parsed = if cell.contains(['e', 'E']) { Decimal::from_scientific(cell) } else { cell.parse() };
    let number = parsed.map_err(|_| CellProblem::NotANumber)?;
    if number < Decimal::from(min) || number > Decimal::from(max) {
        return Err(CellProblem::OutOfRange { min, max });
    }
    Ok(Some(number.round_dp_with_strategy(DECIMALS_KEPT, RoundingStrategy::MidpointNearestEven).normalize()))
}

/// The number with a point where it has a decimal comma. Three digits after a comma could be thousands too.
fn with_point(cell: &str) -> Result<Cow<'_, str>, CellProblem> {
    let Some((whole, fraction)) = cell.split_once(',') else { return Ok(Cow::Borrowed(cell)) };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let whole_digits = whole.trim_start_matches('-');
    if !is_number(whole_digits) || !is_number(fraction) {
        return Err(CellProblem::NotANumber);
    }
    if fraction.len() == 3 && whole_digits != "0" {
        return Err(CellProblem::AmbiguousComma);
    }
    Ok(Cow::Owned(format!("{whole}.{fraction}")))
}

/// The whole number in a cell, from `min` to `max`; `8.0` is whole, `8.5` is not.
pub(crate) fn whole(cell: &str, min: i64, max: i64) -> Result<Option<i32>, CellProblem> {
    let Some(number) = decimal(cell, min, max)? else { return Ok(None) };
    if !number.is_integer() {
        return Err(CellProblem::NotWhole);
    }
    number.to_i32().map(Some).ok_or(CellProblem::OutOfRange { min, max })
}

/// The number in a cell, rounded half-even to a whole one.
pub(crate) fn rounded(cell: &str, min: i64, max: i64) -> Result<Option<i64>, CellProblem> {
    let Some(number) = decimal(cell, min, max)? else { return Ok(None) };
    number.round().to_i64().map(Some).ok_or(CellProblem::OutOfRange { min, max })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(cell: &str) -> Result<Option<String>, CellProblem> {
        decimal(cell, -1000, 1000).map(|number| number.map(|number| number.to_string()))
    }

    #[test]
    fn blank_is_no_number_and_zero_is_one() {
        assert_eq!(text_of("  "), Ok(None));
        assert_eq!(text_of("0.0"), Ok(Some("0".to_owned())));
        assert_eq!(text_of("-0"), Ok(Some("0".to_owned())));
    }

    #[test]
    fn a_number_keeps_nine_decimals() {
        assert_eq!(text_of("61.23496994999999999999999"), Ok(Some("61.23496995".to_owned())));
        assert_eq!(text_of("0.1234567885"), Ok(Some("0.123456788".to_owned())));
        assert_eq!(text_of("-20.50"), Ok(Some("-20.5".to_owned())));
        assert_eq!(text_of("1.0E2"), Ok(Some("100".to_owned())));
    }

    #[test]
    fn a_decimal_comma_is_a_point_and_three_digits_after_it_are_ambiguous() {
        assert_eq!(text_of("82,5"), Ok(Some("82.5".to_owned())));
        assert_eq!(text_of("-0,125"), Ok(Some("-0.125".to_owned())));
        assert_eq!(text_of("1,250"), Err(CellProblem::AmbiguousComma));
    }

    #[test]
    fn what_is_no_number_is_told_from_what_is_out_of_range() {
        for cell in [
            "1e400",
            "1e-400",
            "NaN",
            "inf",
            "1_000",
            "1,5,5",
            ",5",
            "1,",
            "1.0,5",
            "0x10",
            "12kg",
            "--1",
            ".",
            "1.2.3",
            "e",
            "٣",
            "9".repeat(41).as_str(),
        ] {
            assert_eq!(text_of(cell), Err(CellProblem::NotANumber), "{cell}");
        }
        for cell in ["1000000000000", "1e12", "-1000.5", "1000.0000000001"] {
            assert_eq!(text_of(cell), Err(CellProblem::OutOfRange { min: -1000, max: 1000 }), "{cell}");
        }
    }

    #[test]
    fn a_fraction_is_refused_where_only_whole_numbers_make_sense() {
        assert_eq!(whole("10.0", 0, 100), Ok(Some(10)));
        assert_eq!(whole("10.5", 0, 100), Err(CellProblem::NotWhole));
        assert_eq!(rounded("90.4", 0, 100), Ok(Some(90)));
    }
}
