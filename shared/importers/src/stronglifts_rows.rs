//! StrongLifts of before 2019: one row for each workout, with a group of columns for each exercise.

use tidemark_stats::{SetKind, TypedWeight};

use crate::{
    CellProblem, Format, ImportError, ImportedSet, ParseOptions, SkipReason,
    assembly::{Reading, WorkoutRow},
    column::{Column, Field, Stated},
    format::{Grouping, Reader},
    number,
    row::{EXERCISE_CHARACTERS_MAX, REPS_MAX, Row},
    timestamp,
    words::{Meaning, meaning},
};

pub(crate) const READER: Reader = Reader {
    format: Format::StrongLifts,
    required: &[Column::Start, Column::ExerciseGroup, Column::GroupWeight, Column::GroupSet],
    read,
    fits: None,
    grouping: Grouping::Start,
    has_regional_dates: true,
    has_short_rows: true,
};

fn read<'row>(row: &Row<'row>, options: &ParseOptions) -> Result<Reading<'row>, ImportError> {
    let date = row.start(|cell| timestamp::regional_date(cell, row.order).map(|date| date.at(0, 0, 0, 0)))?;
    let mut sets = Vec::new();
    for field in row.layout.fields.iter().filter(|field| field.column == Column::ExerciseGroup) {
        read_group(row, field, options, &mut sets)?;
    }
    if sets.is_empty() {
        return Ok(Reading::Skip(SkipReason::NothingDone));
    }
    Ok(Reading::Sets(Box::new(WorkoutRow {
        // The letter of the program's day.
        title: row.text(Column::WorkoutNumber),
        workout_notes: row.notes(Column::SetNotes)?,
        sets,
        ..WorkoutRow::of(date)
    })))
}

/// The sets of one exercise: those whose repetitions are written. A group without any was planned and not done.
fn read_group(
    row: &Row<'_>,
    group: &Field,
    options: &ParseOptions,
    sets: &mut Vec<ImportedSet>,
) -> Result<(), ImportError> {
    let number = group.group.unwrap_or_default();
    let done = row.in_group(Column::GroupSet, number);
    if done.is_empty() {
        return Ok(());
    }
    let exercise = match row.in_group(Column::ExerciseGroup, number).first() {
        None => return Err(row.error_in(group, CellProblem::Missing)),
        Some((name, _)) if name.chars().count() > EXERCISE_CHARACTERS_MAX => {
            return Err(row.error_in(group, CellProblem::TooLong { characters_max: EXERCISE_CHARACTERS_MAX }));
        }
        Some((name, _)) => *name,
    };
    let weight = weight(row, &row.in_group(Column::GroupWeight, number), options)?;
    for (cell, field) in done {
        let reps = number::whole(cell, 0, REPS_MAX).map_err(|problem| row.error_in(field, problem))?;
        sets.push(ImportedSet {
            line: row.line,
            position: 0,
            exercise: exercise.to_owned(),
            kind: SetKind::Normal,
            weight,
            reps,
            distance_meters: None,
            duration_seconds: None,
            rpe: None,
            superset: None,
            notes: String::new(),
        });
    }
    Ok(())
}

/// The weight of a group. Where both units are filled they are plates of either kind and no conversions, as 60 kg beside 135 lb;
/// the one in which the body is weighed was on the bar.
fn weight(row: &Row<'_>, cells: &[(&str, &Field)], options: &ParseOptions) -> Result<Option<TypedWeight>, ImportError> {
    let chosen = match cells {
        [] => return Ok(None),
        [only] => only,
        [.., last] => {
            let wanted = match body_unit(row.text(Column::BodyWeight)) {
                Some(Meaning::Pound) => Stated::Pounds,
                Some(_) => Stated::Kilograms,
                None => return Err(row.error_in(last.1, CellProblem::TwoUnits)),
            };
            cells.iter().find(|(_, field)| field.stated == wanted).unwrap_or(last)
        }
    };
    row.typed_weight(*chosen, options).map(|(weight, _)| weight)
}

/// The unit after a body weight such as `183.00lb` or `84KG`.
fn body_unit(cell: &str) -> Option<Meaning> {
    let word =
        cell.trim_start_matches(|character: char| character.is_ascii_digit() || matches!(character, '.' | ',' | ' '));
    meaning(word, &[Meaning::Kilogram, Meaning::Pound])
}
