//! Local dates and times as applications write them. None is ever moved into a time zone.

use jiff::civil::{Date, DateTime, Time};

use crate::{
    CellProblem, month_names,
    words::{Meaning, meaning, means},
};

/// Years in which a workout can have been logged. Year 0 and the like come from damaged or test data.
const YEARS: std::ops::RangeInclusive<i16> = 1900..=2199;

/// A date and a time, in numbers or with the name of the month: what [`numeric`] and [`with_month_name`] read.
pub(crate) fn local(cell: &str) -> Result<DateTime, CellProblem> {
    // Nearly all are numeric, and those are read without looking for words.
    let is_numeric = cell.len() > 5 && cell.as_bytes()[4] == b'-';
    if is_numeric { numeric(cell) } else { with_month_name(cell) }
}

/// A date and a time with their offset from UTC, `2021-12-27 10:02:51 +0000`, as that instant in UTC; or without, which is
/// local. Tells which of both.
pub(crate) fn with_offset(cell: &str) -> Result<(DateTime, bool), CellProblem> {
    let cell = cell.trim();
    let (at, offset_seconds) = match cell.strip_suffix('Z') {
        Some(at) => (at, Some(0)),
        None => match cell.rsplit_once(' ').filter(|(_, last)| last.starts_with(['+', '-'])) {
            Some((at, offset)) => (at, Some(offset_seconds(offset)?)),
            None => (cell, None),
        },
    };
    let at = numeric(at)?;
    let Some(seconds) = offset_seconds else { return Ok((at, false)) };
    let utc = at.checked_sub(jiff::Span::new().seconds(seconds)).map_err(|_| CellProblem::NotADate)?;
    Ok((utc, true))
}

/// `+0100` or `-03:30` in seconds.
fn offset_seconds(offset: &str) -> Result<i64, CellProblem> {
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    let digits: String = offset[1..].chars().filter(|&character| character != ':').collect();
    if digits.len() != 4 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(CellProblem::NotADate);
    }
    let (hours, minutes) = (self::digits(&digits[..2])?, self::digits(&digits[2..])?);
    if hours > 14 || minutes > 59 {
        return Err(CellProblem::NotADate);
    }
    Ok(sign * (i64::from(hours) * 3600 + i64::from(minutes) * 60))
}

/// Whether days stand before months in dates such as `09/01/25`, where nothing else tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum DateOrder {
    /// No date of the file tells it.
    #[default]
    Unknown,
    DayFirst,
    MonthFirst,
}

impl DateOrder {
    /// What one more date of the file tells: a number above twelve is a day.
    pub(crate) fn learn(self, cell: &str) -> Self {
        match date_numbers(cell) {
            Some(([first, _, _], _)) if self == Self::Unknown && (13..=31).contains(&first) => Self::DayFirst,
            Some(([_, second, _], _)) if self == Self::Unknown && (13..=31).contains(&second) => Self::MonthFirst,
            _ => self,
        }
    }
}

/// The three numbers of a date that does not begin with its year, and whether points part them.
fn date_numbers(cell: &str) -> Option<([i16; 3], bool)> {
    let cell = cell.trim().trim_end_matches('.');
    let parts: Vec<&str> = cell.split(['/', '.', '-', ' ']).filter(|part| !part.is_empty()).collect();
    let [first, second, year] = parts.as_slice() else { return None };
    let numbers = [digits(first).ok()?, digits(second).ok()?, digits(year).ok()?];
    (first.len() <= 2 && second.len() <= 2 && matches!(year.len(), 2 | 4)).then(|| (numbers, cell.contains('.')))
}

/// A date as the region of a phone writes it: `2025-01-09`, `2025/1/9`, `09.01.2025`, and `09/01/25` in the order of the
/// file's other dates. Two digits are a year of this century.
pub(crate) fn regional_date(cell: &str, order: DateOrder) -> Result<Date, CellProblem> {
    let Some(([first, second, year], has_points)) = date_numbers(cell) else {
        let dashed = cell.trim().trim_end_matches('.').replace(['/', '.'], "-").replace(' ', "");
        return numeric_date(&dashed);
    };
    let year = if year < 100 { 2000 + year } else { year };
    match order {
        _ if has_points => date(year, second, first),
        DateOrder::DayFirst => date(year, second, first),
        DateOrder::MonthFirst => date(year, first, second),
        DateOrder::Unknown if first == second => date(year, first, second),
        DateOrder::Unknown => Err(CellProblem::AmbiguousDate),
    }
}

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
/// `15 de set. de 2025, 07:48`.
pub(crate) fn with_month_name(cell: &str) -> Result<DateTime, CellProblem> {
    let cell = cell.trim();
    let words: Vec<&str> = cell
        .split(|character: char| character.is_whitespace() || character == ',')
        .filter(|word| !word.is_empty())
        .collect();
    let clock_at = words.iter().position(|word| word.contains(':')).ok_or(CellProblem::NotADate)?;
    let (mut year, mut month, mut day) = (None, None, None);
    let mut half_of_day = "";
    for word in &words[..clock_at] {
        // Korean and Japanese write year and day with their words behind the numbers.
        let word = word.trim_end_matches(['.', '년', '일', '年', '日']);
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
        let place = match word.len() {
            _ if means(word, Meaning::Filler) => continue,
            // Korean writes it before the time.
            _ if meaning(word, &[Meaning::BeforeNoon, Meaning::AfterNoon]).is_some() => {
                half_of_day = word;
                continue;
            }
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
    Ok(date(year, i16::from(month), day)?.to_datetime(clock(&(words[clock_at..].join(" ") + half_of_day))?))
}

/// `16:46`, `16:46:13`, `4:46 PM`, `4:46:13 p.m.`
pub(crate) fn clock(text: &str) -> Result<Time, CellProblem> {
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
            "2025년 9월 15일 오전 7:48",
            "2025年 9月 15日 07:48",
            "15 9月 2025, 07:48",
            "2025-09-15 07:48:00",
        ] {
            assert_eq!(shown(local(cell)).as_deref(), Ok("2025-09-15T07:48:00"), "{cell}");
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

    #[test]
    fn a_time_with_an_offset_is_that_instant_in_utc() {
        for (cell, expected, is_utc) in [
            ("2021-12-27 10:02:51 +0000", "2021-12-27T10:02:51", true),
            ("2021-12-27 00:02:51 +0130", "2021-12-26T22:32:51", true),
            ("2021-12-27 23:30:00 -05:00", "2021-12-28T04:30:00", true),
            ("2021-12-27T10:02:51Z", "2021-12-27T10:02:51", true),
            ("2021-12-27 10:02:51", "2021-12-27T10:02:51", false),
        ] {
            let read = with_offset(cell).map(|(at, is_utc)| (at.to_string(), is_utc));
            assert_eq!(read, Ok((expected.to_owned(), is_utc)), "{cell}");
        }
        for cell in ["2021-12-27 10:02:51 +00", "2021-12-27 10:02:51 +1500", "2021-12-27 10:02:51 +é00", "+0000", "Z"]
        {
            assert_eq!(with_offset(cell), Err(CellProblem::NotADate), "{cell}");
        }
    }

    #[test]
    fn the_order_of_day_and_month_is_learned_from_the_file() {
        let order = |cells: &[&str]| cells.iter().fold(DateOrder::Unknown, |order, cell| order.learn(cell));
        assert_eq!(order(&["09/01/25", "23/12/24"]), DateOrder::DayFirst);
        assert_eq!(order(&["1/9/25", "12/23/24", "13/01/25"]), DateOrder::MonthFirst);
        assert_eq!(order(&["09/01/25", "2024-12-23", "23.12"]), DateOrder::Unknown);
        let read = |cell, order| regional_date(cell, order).map(|date| date.to_string());
        for (cell, order, expected) in [
            ("09/01/25", DateOrder::DayFirst, "2025-01-09"),
            ("09/01/25", DateOrder::MonthFirst, "2025-09-01"),
            ("09.01.2025", DateOrder::Unknown, "2025-01-09"),
            ("09. 01. 2025", DateOrder::MonthFirst, "2025-01-09"),
            ("2025-01-09", DateOrder::Unknown, "2025-01-09"),
            ("2025/1/9", DateOrder::Unknown, "2025-01-09"),
            ("2025. 1. 9.", DateOrder::DayFirst, "2025-01-09"),
            ("05/05/25", DateOrder::Unknown, "2025-05-05"),
        ] {
            assert_eq!(read(cell, order).as_deref(), Ok(expected), "{cell}");
        }
        assert_eq!(read("09/01/25", DateOrder::Unknown), Err(CellProblem::AmbiguousDate));
        for cell in ["", "31/02/25", "2025", "é/1/25", "1/2/3/4", "45/01/25"] {
            assert_eq!(read(cell, DateOrder::DayFirst), Err(CellProblem::NotADate), "{cell}");
        }
    }
}
