//! What a column of an export holds, whatever its name.

/// The figure or text a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Column {
    Start,
    End,
    Title,
    WorkoutDuration,
    WorkoutNotes,
    Exercise,
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
    /// Whether the column holds free text, in which a comma may stand.
    pub(crate) fn is_text(self) -> bool {
        matches!(self, Self::Title | Self::WorkoutNotes | Self::Exercise | Self::SetNotes)
    }
}

/// The unit that the name of a column states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stated {
    Nothing,
    Kilograms,
    Pounds,
    Kilometers,
    Miles,
}

/// One column of a format: what it holds and the names it goes by, in every language and version known.
#[derive(Debug)]
pub(crate) struct ColumnNames {
    pub(crate) column: Column,
    pub(crate) required: bool,
    pub(crate) names: &'static [(&'static str, Stated)],
}

/// The columns of one file in their order: what each holds and its name in the header.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) columns: Vec<Column>,
    pub(crate) names: Vec<String>,
    pub(crate) weight: Stated,
    pub(crate) distance: Stated,
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
    /// Finds each name of the header in the table of a format.
    pub(crate) fn of(header: &[&str], table: &[ColumnNames]) -> Result<Self, Mismatch> {
        let found: Vec<_> = header.iter().map(|name| look_up(name, table)).collect();
        let has = |column| found.iter().flatten().any(|&(other, _)| other == column);
        if !table.iter().filter(|entry| entry.required).all(|entry| has(entry.column)) {
            return Err(Mismatch::OtherFormat);
        }
        let mut layout =
            Self { columns: Vec::new(), names: Vec::new(), weight: Stated::Nothing, distance: Stated::Nothing };
        for (index, (entry, name)) in found.iter().zip(header).enumerate() {
            let &(column, stated) = entry.as_ref().ok_or(Mismatch::Unknown(index))?;
            if column != Column::Ignored && layout.columns.contains(&column) {
                return Err(Mismatch::Repeated(index));
            }
            match column {
                Column::Weight => layout.weight = stated,
                Column::Distance => layout.distance = stated,
                _ => {}
            }
            layout.columns.push(column);
            layout.names.push(name.trim().to_owned());
        }
        Ok(layout)
    }

    /// Where the column stands, if the file has it.
    pub(crate) fn index(&self, column: Column) -> Option<usize> {
        self.columns.iter().position(|&other| other == column)
    }
}

fn look_up(name: &str, table: &[ColumnNames]) -> Option<(Column, Stated)> {
    let name = name.trim().to_lowercase();
    table.iter().find_map(|entry| {
        let (_, stated) = entry.names.iter().find(|(known, _)| known.to_lowercase() == name)?;
        Some((entry.column, *stated))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[ColumnNames] = &[
        ColumnNames { column: Column::Start, required: true, names: &[("Date", Stated::Nothing)] },
        ColumnNames {
            column: Column::Weight,
            required: false,
            names: &[("Weight (kg)", Stated::Kilograms), ("Weight (lb)", Stated::Pounds)],
        },
    ];

    #[test]
    fn a_header_may_come_in_any_order_and_case() {
        let layout = Layout::of(&[" weight (LB)", "DATE"], TABLE).expect("the header is known");
        assert_eq!(layout.columns, [Column::Weight, Column::Start]);
        assert_eq!(layout.weight, Stated::Pounds);
    }

    #[test]
    fn an_unknown_or_repeated_column_is_told_apart_from_another_format() {
        assert_eq!(Layout::of(&["Weight (kg)"], TABLE).err(), Some(Mismatch::OtherFormat));
        assert_eq!(Layout::of(&["Date", "Mood"], TABLE).err(), Some(Mismatch::Unknown(1)));
        assert_eq!(Layout::of(&["Date", "Weight (kg)", "Weight (lb)"], TABLE).err(), Some(Mismatch::Repeated(2)));
    }
}
