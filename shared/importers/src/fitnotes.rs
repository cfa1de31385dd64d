//! FitNotes: dates without times, no titles and no kinds of sets.

use tidemark_stats::{SetKind, TypedWeight, Unit};

use crate::{
    CellProblem, Format, ImportError, ImportedSet, ParseOptions,
    assembly::{Reading, SetRow},
    column::{Column, ColumnNames, Stated},
    distance, duration,
    format::Reader,
    row::Row,
    timestamp,
};

const fn named(column: Column, names: &'static [(&'static str, Stated)]) -> ColumnNames {
    ColumnNames { column, required: true, names }
}

const fn optional(column: Column, names: &'static [(&'static str, Stated)]) -> ColumnNames {
    ColumnNames { column, required: false, names }
}

pub(crate) const READER: Reader = Reader {
    format: Format::FitNotes,
    columns: &[
        named(Column::Start, &[("Date", Stated::Nothing)]),
        named(Column::Exercise, &[("Exercise", Stated::Nothing)]),
        named(Column::Ignored, &[("Category", Stated::Nothing)]),
        named(
            Column::Weight,
            &[
                ("Weight", Stated::Nothing),
                ("Weight (kgs)", Stated::Kilograms),
                ("Weight (kg)", Stated::Kilograms),
                ("Weight (lbs)", Stated::Pounds),
            ],
        ),
        optional(Column::WeightUnit, &[("Weight Unit", Stated::Nothing)]),
        named(Column::Reps, &[("Reps", Stated::Nothing)]),
        named(Column::Distance, &[("Distance", Stated::Nothing)]),
        named(Column::DistanceUnit, &[("Distance Unit", Stated::Nothing)]),
        named(Column::Seconds, &[("Time", Stated::Nothing)]),
        optional(Column::SetNotes, &[("Comment", Stated::Nothing), ("Notes", Stated::Nothing)]),
    ],
    read,
    fits: None,
};

fn read<'row>(row: &Row<'row>, options: &ParseOptions) -> Result<Reading<'row>, ImportError> {
    let start = row.start(|cell| timestamp::numeric_date(cell).map(|date| date.at(0, 0, 0, 0)))?;
    let seconds = row.read(Column::Seconds, duration::with_colons)?;
    Ok(Reading::Set(Box::new(SetRow {
        start,
        title: "",
        workout_duration_seconds: None,
        workout_notes: "",
        set: ImportedSet {
            line: row.line,
            position: 0,
            exercise: row.required_text(Column::Exercise)?.to_owned(),
            kind: SetKind::Normal,
            weight: weight(row, options)?,
            reps: row.reps()?,
            distance_meters: row.distance(distance_unit(row)?)?,
            // 0 is unknown like blank, as in every other format.
            duration_seconds: seconds.filter(|&seconds| seconds != 0),
            rpe: None,
            superset: None,
            notes: row.text(Column::SetNotes).to_owned(),
        },
    })))
}

/// The unit stands in the row, or in the name of the weight column, or nowhere.
fn weight(row: &Row<'_>, options: &ParseOptions) -> Result<Option<TypedWeight>, ImportError> {
    let unit = match (row.text(Column::WeightUnit), row.layout.weight) {
        ("", Stated::Pounds) => Unit::Pound,
        ("", Stated::Kilograms) => Unit::Kilogram,
        ("", _) => options.unit_or_default(),
        ("kgs" | "kg", _) => Unit::Kilogram,
        ("lbs" | "lb", _) => Unit::Pound,
        _ => return Err(row.error(Column::WeightUnit, CellProblem::UnknownUnit)),
    };
    row.weight(unit)
}

fn distance_unit(row: &Row<'_>) -> Result<Option<distance::Unit>, ImportError> {
    match row.text(Column::DistanceUnit) {
        "" => Ok(None),
        word => match distance::Unit::of(word) {
            Some(unit) => Ok(Some(unit)),
            None => Err(row.error(Column::DistanceUnit, CellProblem::UnknownUnit)),
        },
    }
}
