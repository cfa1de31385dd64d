//! What a column of an export holds, whatever its name.

use std::{collections::HashMap, sync::LazyLock};

use crate::{
    Format,
    data::{HeaderName, folded, header_names},
};

/// The figure or text a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Column {
    Start,
    End,
    Title,
    WorkoutDuration,
    WorkoutNotes,
    Exercise,
    /// The muscle group; known by it, and not imported.
    Category,
    SetOrder,
    SetKind,
    Superset,
    Weight,
    WeightUnit,
    Reps,
    Distance,
    DistanceUnit,
    Seconds,
    SetNotes,
    Rpe,
    /// Known, and nothing of it is imported.
    Ignored,
}

impl Column {
    /// The column by its word in `data/headers.csv`.
    pub(crate) fn of(word: &str) -> Option<Self> {
        Some(match word {
            "start" => Self::Start,
            "end" => Self::End,
            "title" => Self::Title,
            "workout_duration" => Self::WorkoutDuration,
            "workout_notes" => Self::WorkoutNotes,
            "exercise" => Self::Exercise,
            "category" => Self::Category,
            "set_order" => Self::SetOrder,
            "set_kind" => Self::SetKind,
            "superset" => Self::Superset,
            "weight" => Self::Weight,
            "weight_unit" => Self::WeightUnit,
            "reps" => Self::Reps,
            "distance" => Self::Distance,
            "distance_unit" => Self::DistanceUnit,
            "seconds" => Self::Seconds,
            "set_notes" => Self::SetNotes,
            "rpe" => Self::Rpe,
            "ignored" => Self::Ignored,
            _ => return None,
        })
    }

    /// Whether the column holds free text, in which a comma may stand.
    pub(crate) fn is_text(self) -> bool {
        matches!(self, Self::Title | Self::WorkoutNotes | Self::Exercise | Self::SetNotes)
    }

    /// Whether nothing of the column is imported.
    fn is_left_out(self) -> bool {
        matches!(self, Self::Ignored | Self::Category)
    }
}

/// The unit that the name of a column states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Stated {
    Nothing,
    Kilograms,
    Pounds,
    Meters,
    Kilometers,
    Miles,
    Seconds,
}

impl Stated {
    /// The unit by its word in `data/headers.csv`; blank is nothing.
    pub(crate) fn of(word: &str) -> Option<Self> {
        Some(match word {
            "" => Self::Nothing,
            "kg" => Self::Kilograms,
            "lb" => Self::Pounds,
            "m" => Self::Meters,
            "km" => Self::Kilometers,
            "mi" => Self::Miles,
            "s" => Self::Seconds,
            _ => return None,
        })
    }
}

/// What a name of a column means, by format and folded name.
static NAMES: LazyLock<HashMap<(Format, String), (Column, Stated)>> = LazyLock::new(|| {
    let entry = |HeaderName { format, column, stated, name }| ((format, folded(&name)), (column, stated));
    header_names().map(entry).collect()
});

/// One column of a file: what it holds, in which unit, and its name in the header.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) column: Column,
    pub(crate) stated: Stated,
    pub(crate) name: String,
}

/// The columns of one file in their order.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) fields: Vec<Field>,
}

/// Why a header is not one of a format.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Mismatch {
    /// A required column is missing: it is another format.
    OtherFormat,
    /// All required columns are there, and this one is not known.
    Unknown(usize),
    /// This column means what an earlier one means.
    Repeated(usize),
}

impl Layout {
    /// Finds each name of the header in the table of a format. A weight or a distance may have a column for each unit.
    pub(crate) fn of(header: &[&str], format: Format, required: &[Column]) -> Result<Self, Mismatch> {
        let found: Vec<_> = header.iter().map(|name| NAMES.get(&(format, folded(name))).copied()).collect();
        let has = |column| found.iter().flatten().any(|&(other, _)| other == column);
        if !required.iter().all(|&column| has(column)) {
            return Err(Mismatch::OtherFormat);
        }
        let mut fields: Vec<Field> = Vec::new();
        for (index, (meaning, name)) in found.iter().zip(header).enumerate() {
            let &(column, stated) = meaning.as_ref().ok_or(Mismatch::Unknown(index))?;
            let same = |field: &Field| {
                let has_a_column_per_unit = matches!(column, Column::Weight | Column::Distance)
                    && field.stated != stated
                    && field.stated != Stated::Nothing
                    && stated != Stated::Nothing;
                field.column == column && !has_a_column_per_unit
            };
            if !column.is_left_out() && fields.iter().any(same) {
                return Err(Mismatch::Repeated(index));
            }
            fields.push(Field { column, stated, name: name.trim().to_owned() });
        }
        Ok(Self { fields })
    }

    /// Where the column stands, if the file has it.
    pub(crate) fn index(&self, column: Column) -> Option<usize> {
        self.fields.iter().position(|field| field.column == column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(header: &[&str]) -> Result<Layout, Mismatch> {
        Layout::of(header, Format::FitNotes, &[Column::Start])
    }

    #[test]
    fn a_header_may_come_in_any_order_and_case() {
        let layout = layout(&[" weight (LBS)", "DATE"]).expect("the header is known");
        let columns: Vec<_> = layout.fields.iter().map(|field| (field.column, field.stated)).collect();
        assert_eq!(columns, [(Column::Weight, Stated::Pounds), (Column::Start, Stated::Nothing)]);
    }

    #[test]
    fn an_unknown_or_repeated_column_is_told_apart_from_another_format() {
        assert_eq!(layout(&["Weight (kg)"]).err(), Some(Mismatch::OtherFormat));
        assert_eq!(layout(&["Date", "Mood"]).err(), Some(Mismatch::Unknown(1)));
        assert_eq!(layout(&["Date", "Weight (kg)", "Weight (kgs)"]).err(), Some(Mismatch::Repeated(2)));
        assert_eq!(layout(&["Date", "Weight", "Weight (kg)"]).err(), Some(Mismatch::Repeated(2)));
        assert!(layout(&["Date", "Weight (kg)", "Weight (lbs)"]).is_ok());
    }
}
