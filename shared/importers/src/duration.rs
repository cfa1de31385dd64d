//! Durations as applications write them.

use crate::{CellProblem, row::DURATION_SECONDS_MAX};

/// A duration in words, in seconds: `2h 18m`, `51m`, `1h 2m 3s`, `45s`; blank is unknown.
pub(crate) fn in_words(cell: &str) -> Result<Option<i64>, CellProblem> {
    let mut rest = cell.trim();
    if rest.is_empty() {
        return Ok(None);
    }
    let (mut seconds, mut last_unit) = (0_i64, i64::MAX);
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = rest.split_at(digits);
        let after = after.trim_start();
        let unit = match after.bytes().next() {
            Some(b'h') => 3600,
            Some(b'm') => 60,
            Some(b's') => 1,
            _ => return Err(CellProblem::NotADuration),
        };
        if unit >= last_unit {
            return Err(CellProblem::NotADuration);
        }
        seconds = add(seconds, number, unit)?;
        (rest, last_unit) = (after[1..].trim_start(), unit);
    }
    checked(seconds).map(Some)
}

/// A duration with colons, in seconds: `1:02:03` or `2:03`; blank is unknown.
pub(crate) fn with_colons(cell: &str) -> Result<Option<i64>, CellProblem> {
    let cell = cell.trim();
    if cell.is_empty() {
        return Ok(None);
    }
    let parts: Vec<&str> = cell.split(':').collect();
    if !(2..=3).contains(&parts.len()) {
        return Err(CellProblem::NotADuration);
    }
    let units = [3600, 60, 1];
    let mut seconds = 0;
    for (part, unit) in parts.iter().zip(&units[3 - parts.len()..]) {
        seconds = add(seconds, part, *unit)?;
    }
    checked(seconds).map(Some)
}

fn add(seconds: i64, number: &str, unit: i64) -> Result<i64, CellProblem> {
    // Six digits of hours are more than a century; more are no duration and could overflow.
    if number.is_empty() || number.len() > 9 || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(CellProblem::NotADuration);
    }
    let number: i64 = number.parse().map_err(|_| CellProblem::NotADuration)?;
    Ok(seconds + number * unit)
}

fn checked(seconds: i64) -> Result<i64, CellProblem> {
    if seconds > DURATION_SECONDS_MAX {
        return Err(CellProblem::OutOfRange { min: 0, max: DURATION_SECONDS_MAX });
    }
    Ok(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_hours_minutes_and_seconds_in_this_order() {
        for (cell, seconds) in
            [("2h 18m", 8280), ("51m", 3060), ("1h", 3600), ("1h2m3s", 3723), ("45 s", 45), ("48h 1m", 172_860)]
        {
            assert_eq!(in_words(cell), Ok(Some(seconds)), "{cell}");
        }
        assert_eq!(in_words(" "), Ok(None));
        for cell in ["h", "1", "5m 1h", "1h 1h", "1x", "-5m", "1,5h", "99999999999999999999h", "5é"] {
            assert_eq!(in_words(cell), Err(CellProblem::NotADuration), "{cell}");
        }
        assert!(matches!(in_words("999999h"), Err(CellProblem::OutOfRange { .. })));
    }

    #[test]
    fn colons_part_hours_minutes_and_seconds() {
        assert_eq!(with_colons("1:02:03"), Ok(Some(3723)));
        assert_eq!(with_colons("01:30"), Ok(Some(90)));
        assert_eq!(with_colons(""), Ok(None));
        for cell in ["90", "1:2:3:4", ":30", "1:-2", "a:b"] {
            assert_eq!(with_colons(cell), Err(CellProblem::NotADuration), "{cell}");
        }
    }
}
