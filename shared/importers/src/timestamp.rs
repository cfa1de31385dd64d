//! Local dates and times as applications write them. None is ever moved into a time zone.

use jiff::civil::{Date, DateTime, Time};

use crate::{
    CellProblem, month_names,
    words::{Meaning, meaning, means},
};

/// Years in which a workout can have been logged. Year 0 and the like come from damaged or test data.
const YEARS: std::ops::RangeInclusive<i16> = 1900..=2199;

/// `2021-02-10 16:46:13`, the seconds optional, the clock of 12 or of 24 hours.
pub(crate) fn numeric(cell: &str) -> Result<DateTime, CellProblem> {
    // Every kind of white space parts words, as do the narrow no-break spaces that iOS writes before AM and PM.
    let (day, time) = cell.trim().split_once([' ', 'T', '\u{a0}', '\u{202f}']).ok_or(CellProblem::NotADate)?;
    Ok(numeric_date(day)?.to_datetime(clock(time)?))
}

/// `2021-02-10`.
pub(crate) fn numeric_date(cell: &str) -> Result<Date, CellProblem> {
    let mut parts = cell.trim().split('-');
    let (year, month, day) = (parts.next(), parts.next(), parts.next());
    let (Some(year), Some(month), Some(day), None) = (year, month, day, parts.next()) else {
        return Err(CellProblem::NotADate);
    };
    if year.len() != 4 {
        return Err(CellProblem::NotADate);
    }
    date(digits(year)?, digits(month)?, digits(day)?)
}

/// `15 Sep 2025, 07:48` with the month in any language of the table, also `Sep 15, 2025, 7:48 AM` and
/// `15 de set. de 2025, 07:48`; and what [`numeric`] reads.
pub(crate) fn with_month_name(cell: &str) -> Result<DateTime, CellProblem> {
    let cell = cell.trim();
    let words: Vec<&str> = cell
        .split(|character: char| character.is_whitespace() || character == ',')
        .filter(|word| !word.is_empty())
        .collect();
    let clock_at = words.iter().position(|word| word.contains(':')).ok_or(CellProblem::NotADate)?;
    if clock_at == 1 {
        return numeric(cell);
    }
    let (mut year, mut month, mut day) = (None, None, None);
    for word in &words[..clock_at] {
        let word = word.trim_end_matches('.');
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
        let place = match word.len() {
            _ if means(word, Meaning::Filler) => continue,
            4 if is_number => &mut year,
            1..=2 if is_number => &mut day,
            _ if is_number => return Err(CellProblem::NotADate),
            _ => {
                let number = month_names::number_of(word).ok_or(CellProblem::UnknownMonth)?;
                if month.replace(number).is_some() {
                    return Err(CellProblem::NotADate);
                }
                continue;
            }
        };
        if place.replace(digits(word)?).is_some() {
            return Err(CellProblem::NotADate);
        }
    }
    let (Some(year), Some(month), Some(day)) = (year, month, day) else { return Err(CellProblem::NotADate) };
    Ok(date(year, i16::from(month), day)?.to_datetime(clock(&words[clock_at..].join(" "))?))
}

/// `16:46`, `16:46:13`, `4:46 PM`, `4:46:13 p.m.`
fn clock(text: &str) -> Result<Time, CellProblem> {
    let text = text.trim().to_lowercase();
    let end = text.find(|character: char| !character.is_ascii_digit() && character != ':').unwrap_or(text.len());
    let (numbers, suffix) = text.split_at(end);
    let mut parts = numbers.split(':').map(digits);
    let mut next = || parts.next().transpose();
    let (hour, minute, second) = (next()?, next()?, next()?);
    let (Some(hour), Some(minute), None) = (hour, minute, next()?) else { return Err(CellProblem::NotADate) };
    let suffix: String = suffix.chars().filter(|&character| !character.is_whitespace() && character != '.').collect();
    let hour = match meaning(&suffix, &[Meaning::BeforeNoon, Meaning::AfterNoon]) {
        None if suffix.is_empty() => hour,
        Some(_) if !(1..=12).contains(&hour) => return Err(CellProblem::NotADate),
        Some(Meaning::BeforeNoon) => hour % 12,
        Some(_) => hour % 12 + 12,
        None => return Err(CellProblem::NotADate),
    };
    let part = |number: i16| i8::try_from(number).map_err(|_| CellProblem::NotADate);
    Time::new(part(hour)?, part(minute)?, part(second.unwrap_or(0))?, 0).map_err(|_| CellProblem::NotADate)
}

fn date(year: i16, month: i16, day: i16) -> Result<Date, CellProblem> {
    if !YEARS.contains(&year) {
        return Err(CellProblem::YearOutOfRange);
    }
    let part = |number: i16| i8::try_from(number).map_err(|_| CellProblem::NotADate);
    Date::new(year, part(month)?, part(day)?).map_err(|_| CellProblem::NotADate)
}

fn digits(text: &str) -> Result<i16, CellProblem> {
    if !(1..=4).contains(&text.len()) || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(CellProblem::NotADate);
    }
    text.parse().map_err(|_| CellProblem::NotADate)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(read: Result<DateTime, CellProblem>) -> Result<String, CellProblem> {
        read.map(|at| at.to_string())
    }

    #[test]
    fn a_numeric_time_may_be_of_24_or_of_12_hours() {
        for (cell, expected) in [
            ("2021-02-10 16:46:13", "2021-02-10T16:46:13"),
            ("2021-02-10 16:46", "2021-02-10T16:46:00"),
            ("2021-02-10 4:46:13 PM", "2021-02-10T16:46:13"),
            ("2021-02-10 4:46:13\u{202f}PM", "2021-02-10T16:46:13"),
            ("2021-02-10\u{202f}12:05\u{a0}a.m.", "2021-02-10T00:05:00"),
            ("2021-02-10 12:05 pm", "2021-02-10T12:05:00"),
            ("2024-02-29T00:00:00", "2024-02-29T00:00:00"),
        ] {
            assert_eq!(shown(numeric(cell)).as_deref(), Ok(expected), "{cell}");
        }
    }

    #[test]
    fn a_day_that_does_not_exist_is_refused() {
        for cell in [
            "2021-02-31 10:00",
            "2023-02-29 10:00",
            "2021-13-01 10:00",
            "2021-00-10 10:00",
            "2021-02-10 24:00",
            "2021-02-10 13:00 PM",
            "2021-02-10 10:60",
            "2021-02-10",
            "2021-2",
            "10/02/2021 10:00",
            "2021-02-10 10:00Z",
            "21-02-10 10:00",
            "-021-02-10 10:00",
            "2021-02-10-1 10:00",
            "2021-02-10 10:00:00:00",
            "٢٠٢١-02-10 10:00",
        ] {
            assert_eq!(shown(numeric(cell)), Err(CellProblem::NotADate), "{cell}");
        }
        for cell in ["0000-01-01 10:00", "1899-12-31 10:00", "2200-01-01 10:00"] {
            assert_eq!(shown(numeric(cell)), Err(CellProblem::YearOutOfRange), "{cell}");
        }
    }

    #[test]
    fn a_month_may_be_named_in_each_language_of_the_table() {
        for cell in [
            "15 Sep 2025, 07:48",
            "15 Sept 2025, 07:48",
            "Sep 15, 2025, 7:48\u{202f}AM",
            "15. Sept. 2025, 07:48",
            "15 sept. 2025, 07:48",
            "15 sep 2025, 07:48",
            "15 set 2025, 07:48",
            "15 de set. de 2025, 07:48",
            "15 Eyl 2025, 07:48",
            "15 9월 2025, 07:48",
            "15 9月 2025, 07:48",
            "2025-09-15 07:48:00",
        ] {
            assert_eq!(shown(with_month_name(cell)).as_deref(), Ok("2025-09-15T07:48:00"), "{cell}");
        }
    }

    #[test]
    fn a_month_that_is_not_known_is_told_from_a_date_that_is_none() {
        assert_eq!(shown(with_month_name("15 Zář 2025, 07:48")), Err(CellProblem::UnknownMonth));
        for cell in [
            "31 Feb 2025, 07:48",
            "15 Sep 2025",
            "15 16 2025, 07:48",
            "Sep Sep 2025, 07:48",
            "Sep 2025, 07:48",
            "15 Sep 20255, 07:48",
            ":",
            "a:",
            "",
            "15 Sep 2025, 07:48 tomorrow",
        ] {
            assert_eq!(shown(with_month_name(cell)), Err(CellProblem::NotADate), "{cell}");
        }
    }
}
