//! Durations as applications write them.

use crate::{
    CellProblem, number,
    row::DURATION_SECONDS_MAX,
    words::{Meaning, meaning},
};

/// A duration in words, in seconds: `2h 18m`, `51m`, `2h 23min`, `1 Std. 5 Min.`, `2시간 18분`; blank is unknown.
pub(crate) fn in_words(cell: &str) -> Result<Option<i64>, CellProblem> {
    let mut rest = cell.trim();
    if rest.is_empty() {
        return Ok(None);
    }
    let (mut seconds, mut last_unit) = (0_i64, i64::MAX);
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = rest.split_at(digits);
        let end = after.find(|character: char| character.is_ascii_digit()).unwrap_or(after.len());
        let (word, next) = after.split_at(end);
        let unit = match meaning(word, &[Meaning::Hour, Meaning::Minute, Meaning::Second]) {
            Some(Meaning::Hour) => 3600,
            Some(Meaning::Minute) => 60,
            Some(_) => 1,
            None => return Err(CellProblem::NotADuration),
        };
        if unit >= last_unit {
            return Err(CellProblem::NotADuration);
        }
        seconds = add(seconds, number, unit)?;
        (rest, last_unit) = (next, unit);
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

/// A number of seconds, rounded to a whole one; blank is unknown.
pub(crate) fn in_seconds(cell: &str) -> Result<Option<i64>, CellProblem> {
    number::rounded(cell, 0, DURATION_SECONDS_MAX)
}

fn add(seconds: i64, number: &str, unit: i64) -> Result<i64, CellProblem> {
    // Nine digits of hours are more than any history; more are no duration and could overflow.
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
        for (cell, seconds) in [
            ("2h 18m", 8280),
            ("51m", 3060),
            ("1h", 3600),
            ("1h2m3s", 3723),
            ("45 s", 45),
            ("48h 1m", 172_860),
            ("2h 23min", 8580),
            ("1 Std. 5 Min.", 3900),
            ("1\u{202f}h 5\u{a0}min", 3900),
            ("2시간 18분", 8280),
            ("2時間18分", 8280),
            ("1sa 5dk", 3900),
        ] {
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
