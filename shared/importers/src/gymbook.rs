//! GymBook: a row for each set with the time it was done, in the language and with the dates of the phone; numbers have their
//! unit beside them.

use rust_decimal::Decimal;
use tidemark_stats::{SetKind, TypedWeight, Unit};

use crate::{
    CellProblem, Format, ImportError, ImportedSet, ParseOptions, SkipReason,
    assembly::{Reading, WorkoutRow},
    column::Column,
    distance, duration,
    format::{Grouping, Reader},
    number,
    row::{DURATION_SECONDS_MAX, REPS_MAX, Row, WEIGHT_MAX},
    timestamp,
    words::{Meaning, meaning},
};

pub(crate) const READER: Reader = Reader {
    format: Format::GymBook,
    required: &[Column::Start, Column::Time, Column::Exercise, Column::RepsOrTime, Column::WeightOrDistance],
    read,
    fits: None,
    grouping: Grouping::Day,
    has_regional_dates: true,
    has_short_rows: false,
};

fn read<'row>(row: &Row<'row>, options: &ParseOptions) -> Result<Reading<'row>, ImportError> {
    if row.read(Column::LeftOut, is_yes)? {
        return Ok(Reading::Skip(SkipReason::LeftOut));
    }
    let date = row.start(|cell| timestamp::regional_date(cell, row.order).map(|date| date.at(0, 0, 0, 0)))?;
    row.required_text(Column::Time)?;
    let time = row.read(Column::Time, timestamp::clock)?;
    let (reps, duration_seconds) = row.read(Column::RepsOrTime, reps_or_time)?;
    let load = row.read(Column::WeightOrDistance, |cell| weight_or_distance(cell, options))?;
    Ok(Reading::Sets(Box::new(WorkoutRow {
        title: row.title()?,
        has_unstated_unit: load.has_unstated_unit,
        sets: vec![ImportedSet {
            line: row.line,
            position: 0,
            exercise: row.exercise()?,
            kind: row.read(Column::SetKind, set_kind)?,
            weight: load.weight,
            reps,
            distance_meters: load.distance_meters,
            duration_seconds: duration_seconds.filter(|&seconds| seconds != 0),
            rpe: None,
            superset: None,
            notes: row.notes(Column::SetNotes)?.to_owned(),
        }],
        ..WorkoutRow::of(date.date().to_datetime(time))
    })))
}

fn is_yes(cell: &str) -> Result<bool, CellProblem> {
    match meaning(cell, &[Meaning::Yes, Meaning::No]) {
        Some(Meaning::Yes) => Ok(true),
        Some(_) => Ok(false),
        None if cell.is_empty() => Ok(false),
        None => Err(CellProblem::NotYesOrNo),
    }
}

/// A cool-down is a working set: it is no preparation.
fn set_kind(cell: &str) -> Result<SetKind, CellProblem> {
    match meaning(cell, &[Meaning::WarmupSet, Meaning::WorkingSet]) {
        Some(Meaning::WarmupSet) => Ok(SetKind::Warmup),
        Some(_) => Ok(SetKind::Normal),
        None if cell.is_empty() => Ok(SetKind::Normal),
        None => Err(CellProblem::UnknownSetKind),
    }
}

/// The number at the beginning of a cell, and the word after it.
fn parted(cell: &str) -> (&str, &str) {
    let end =
        cell.find(|character: char| !matches!(character, '0'..='9' | '.' | ',' | '-' | '+')).unwrap_or(cell.len());
    let (number, word) = cell.split_at(end);
    (number, word.trim())
}

/// `20 repetitions` or `20`, `60 seconds`, `2 min 30 s`, `1:30`.
fn reps_or_time(cell: &str) -> Result<(Option<i32>, Option<i64>), CellProblem> {
    let (number, word) = parted(cell);
    if word.is_empty() || meaning(word, &[Meaning::Repetition]).is_some() {
        return Ok((number::whole(number, 0, REPS_MAX)?, None));
    }
    if cell.contains(':') {
        return duration::with_colons(cell).map(|seconds| (None, seconds));
    }
    let unit = match meaning(word, &[Meaning::Hour, Meaning::Minute, Meaning::Second]) {
        Some(Meaning::Hour) => 3600,
        Some(Meaning::Minute) => 60,
        Some(_) => 1,
        None => return duration::in_words(cell).map(|seconds| (None, seconds)),
    };
    let number = number::decimal(number, 0, DURATION_SECONDS_MAX / unit)?;
    let seconds = number.map(|number| (number * Decimal::from(unit)).round());
    Ok((None, seconds.and_then(|seconds| i64::try_from(seconds).ok())))
}

#[derive(Debug, Default, PartialEq)]
struct Load {
    weight: Option<TypedWeight>,
    distance_meters: Option<Decimal>,
    has_unstated_unit: bool,
}

/// `17,75 kg`, `45 lb`, `5 km`; blank is neither.
fn weight_or_distance(cell: &str, options: &ParseOptions) -> Result<Load, CellProblem> {
    let (number, word) = parted(cell);
    if let Some(unit) = distance::Unit::of(word) {
        let number = number::decimal(number, 0, distance::NUMBER_MAX)?.filter(|number| !number.is_zero());
        return Ok(Load { distance_meters: number.map(|number| unit.meters(number)).transpose()?, ..Load::default() });
    }
    let unit = match meaning(word, &[Meaning::Kilogram, Meaning::Pound]) {
        Some(Meaning::Pound) => Some(Unit::Pound),
        Some(_) => Some(Unit::Kilogram),
        None if word.is_empty() => None,
        None => return Err(CellProblem::UnknownUnit),
    };
    let Some(number) = number::decimal(number, -WEIGHT_MAX, WEIGHT_MAX)? else { return Ok(Load::default()) };
    let out_of_range = CellProblem::OutOfRange { min: -WEIGHT_MAX, max: WEIGHT_MAX };
    let weight = TypedWeight::new(number, unit.unwrap_or(options.unit_or_default())).map_err(|_| out_of_range)?;
    Ok(Load { weight: Some(weight), has_unstated_unit: unit.is_none() && !number.is_zero(), ..Load::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_are_told_from_times_by_the_word() {
        for (cell, reps, seconds) in [
            ("20\u{a0}ripetizioni", Some(20), None),
            ("8 reps", Some(8), None),
            ("12 Wiederholungen", Some(12), None),
            ("12", Some(12), None),
            ("60 secondi", None, Some(60)),
            ("2\u{202f}Min.", None, Some(120)),
            ("1,5 min", None, Some(90)),
            ("1 min 30 s", None, Some(90)),
            ("1:30", None, Some(90)),
            ("", None, None),
        ] {
            assert_eq!(reps_or_time(cell), Ok((reps, seconds)), "{cell}");
        }
        for cell in ["many", "8.5 reps", "8 stones", "-3 reps", "reps 8"] {
            assert!(reps_or_time(cell).is_err(), "{cell}");
        }
    }

    #[test]
    fn a_weight_is_told_from_a_distance_by_its_unit() {
        let read = |cell| weight_or_distance(cell, &ParseOptions::default());
        let weight = |cell| read(cell).ok().and_then(|load| load.weight).map(|weight| weight.to_kilograms());
        assert_eq!(weight("17,75\u{202f}kg"), weight("17.75 kg"));
        assert_ne!(weight("45 lb"), weight("45 kg"));
        assert_eq!(read("5,2 km").map(|load| load.distance_meters), Ok(Some(Decimal::from(5200))));
        assert_eq!(read("45").map(|load| load.has_unstated_unit), Ok(true));
        assert_eq!(read(""), Ok(Load::default()));
        assert_eq!(read("45 stone"), Err(CellProblem::UnknownUnit));
    }
}
