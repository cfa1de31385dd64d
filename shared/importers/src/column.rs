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
    /// The time of day, where the date stands in a column of its own.
    Time,
    /// What tells workouts of one day apart.
    WorkoutNumber,
    Title,
    WorkoutDuration,
    WorkoutNotes,
    Exercise,
    /// The muscle group; known by it, and not imported.
    Category,
    SetOrder,
    SetKind,
    /// Whether the set is a warm-up: yes or no.
    Warmup,
    /// Whether the set was planned and never done: yes or no.
    LeftOut,
    Superset,
    Weight,
    WeightUnit,
    /// The weight of one of several sets of the row.
    SetWeight,
    Reps,
    /// The repetitions of one of several sets of the row.
    SetReps,
    /// The exercise of one of several groups of columns of the row.
    ExerciseGroup,
    /// The weight of all sets of such a group.
    GroupWeight,
    /// The repetitions of one set of such a group.
    GroupSet,
    /// Known for its unit, which tells that of a weight in two.
    BodyWeight,
    /// A summary of the row's sets, which tells those that were left out.
    SetsDone,
    /// Repetitions or a time, told by the word after the number.
    RepsOrTime,
    /// A weight or a distance, told by the unit after the number.
    WeightOrDistance,
    Distance,
    DistanceUnit,
    Seconds,
    SetNotes,
    Rpe,
    /// Known, and nothing of it is imported.
    Ignored,
    /// Without a name, as a delimiter at the end of each line makes one; nothing may be in it.
    Nameless,
}

impl Column {
    /// The column by its word in `data/headers.csv`.
    pub(crate) fn of(word: &str) -> Option<Self> {
        Some(match word {
            "start" => Self::Start,
            "end" => Self::End,
            "time" => Self::Time,
            "workout_number" => Self::WorkoutNumber,
            "title" => Self::Title,
            "workout_duration" => Self::WorkoutDuration,
            "workout_notes" => Self::WorkoutNotes,
            "exercise" => Self::Exercise,
            "category" => Self::Category,
            "set_order" => Self::SetOrder,
            "set_kind" => Self::SetKind,
            "warmup" => Self::Warmup,
            "left_out" => Self::LeftOut,
            "superset" => Self::Superset,
            "weight" => Self::Weight,
            "weight_unit" => Self::WeightUnit,
            "set_weight" => Self::SetWeight,
            "reps" => Self::Reps,
            "set_reps" => Self::SetReps,
            "sets_done" => Self::SetsDone,
            "exercise_group" => Self::ExerciseGroup,
            "group_weight" => Self::GroupWeight,
            "group_set" => Self::GroupSet,
            "body_weight" => Self::BodyWeight,
            "reps_or_time" => Self::RepsOrTime,
            "weight_or_distance" => Self::WeightOrDistance,
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
        matches!(self, Self::Title | Self::WorkoutNotes | Self::Exercise | Self::Category | Self::SetNotes)
    }

    /// Whether nothing of the column is imported.
    fn is_left_out(self) -> bool {
        matches!(self, Self::Ignored | Self::Category | Self::Nameless)
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
    Hours,
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
            "h" => Self::Hours,
            _ => return None,
        })
    }
}

/// What a name of a column means, by format and folded name, in which `#` stands for a number.
static NAMES: LazyLock<HashMap<(Format, String), (Column, Stated)>> = LazyLock::new(|| {
    let entry = |HeaderName { format, column, stated, name }| ((format, folded(&name)), (column, stated));
    header_names().map(entry).collect()
});

/// What a name means in a format, and the number in it.
fn meaning_of(format: Format, name: &str) -> Option<(Column, Stated, Option<u32>)> {
    let name = folded(name);
    if name.is_empty() {
        return Some((Column::Nameless, Stated::Nothing, None));
    }
    let digits = |part: &str| part.bytes().take_while(u8::is_ascii_digit).count();
    let start = name.find(|character: char| character.is_ascii_digit()).unwrap_or(name.len());
    let end = start + digits(&name[start..]);
    let number = name[start..end].parse().ok();
    if let Some(&(column, stated)) = NAMES.get(&(format, name.clone())) {
        return Some((column, stated, None));
    }
    let pattern = format!("{}#{}", &name[..start], &name[end..]);
    NAMES.get(&(format, pattern)).filter(|_| number.is_some()).map(|&(column, stated)| (column, stated, number))
}

/// The first name in the table of what a column holds in a format, for messages.
pub(crate) fn usual_name(format: Format, column: Column) -> Option<String> {
    header_names().find(|entry| entry.format == format && entry.column == column).map(|entry| entry.name)
}

/// One column of a file: what it holds, in which unit, and its name in the header.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) column: Column,
    pub(crate) stated: Stated,
    /// The number in its name: which of several sets of a row it belongs to.
    pub(crate) number: Option<u32>,
    /// The number of the group of columns in which it stands, if the row has several exercises.
    pub(crate) group: Option<u32>,
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
    /// These of the required columns are missing: it is another format.
    OtherFormat(Vec<Column>),
    /// All required columns are there, and this one is not known.
    Unknown(usize),
    /// This column means what an earlier one means.
    Repeated(usize),
}

impl Layout {
    /// Finds each name of the header in the table of a format. A weight or a distance may have a column for each unit.
    pub(crate) fn of(header: &[&str], format: Format, required: &[Column]) -> Result<Self, Mismatch> {
        let found: Vec<_> = header.iter().map(|name| meaning_of(format, name)).collect();
        let has = |column| found.iter().flatten().any(|&(other, ..)| other == column);
        let missing: Vec<Column> = required.iter().copied().filter(|&column| !has(column)).collect();
        if !missing.is_empty() {
            return Err(Mismatch::OtherFormat(missing));
        }
        let mut fields: Vec<Field> = Vec::new();
        let mut group = None;
        for (index, (meaning, name)) in found.iter().zip(header).enumerate() {
            let (column, stated, number) = meaning.ok_or(Mismatch::Unknown(index))?;
            if column == Column::ExerciseGroup {
                group = number;
            }
            let same = |field: &Field| {
                let has_a_column_per_unit =
                    matches!(column, Column::Weight | Column::SetWeight | Column::GroupWeight | Column::Distance)
                        && field.stated != stated
                        && field.stated != Stated::Nothing
                        && stated != Stated::Nothing;
                (field.column, field.number, field.group) == (column, number, group) && !has_a_column_per_unit
            };
            if !column.is_left_out() && fields.iter().any(same) {
                return Err(Mismatch::Repeated(index));
            }
            fields.push(Field { column, stated, number, group, name: name.trim().to_owned() });
        }
        Ok(Self { fields })
    }

    /// Where the column stands, if the file has it.
    pub(crate) fn index(&self, column: Column) -> Option<usize> {
        self.fields.iter().position(|field| field.column == column)
    }

    /// The numbers of the sets that a row holds side by side, in their order.
    pub(crate) fn set_numbers(&self) -> Vec<u32> {
        let of_sets = self.fields.iter().filter(|field| matches!(field.column, Column::SetReps | Column::SetWeight));
        let mut numbers: Vec<u32> = of_sets.filter_map(|field| field.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
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
        assert_eq!(layout(&["Weight (kg)"]).err(), Some(Mismatch::OtherFormat(vec![Column::Start])));
        assert_eq!(layout(&["Date", "Mood"]).err(), Some(Mismatch::Unknown(1)));
        assert_eq!(layout(&["Date", "Weight (kg)", "Weight (kgs)"]).err(), Some(Mismatch::Repeated(2)));
        assert_eq!(layout(&["Date", "Weight", "Weight (kg)"]).err(), Some(Mismatch::Repeated(2)));
        assert!(layout(&["Date", "Weight (kg)", "Weight (lbs)"]).is_ok());
    }

    #[test]
    fn a_number_in_a_name_tells_which_set_it_is_of() {
        let header = ["Date (yyyy/mm/dd)", "Exercise", "Set 2 (Reps)", " Set 2 (KG)", "Set 2 (LB)", "Set 10 (Reps)"];
        let layout = Layout::of(&header, Format::StrongLifts, &[Column::Start]).expect("the header is known");
        assert_eq!(layout.set_numbers(), [2, 10]);
        assert_eq!(layout.fields[3].number, Some(2));
        let twice = Layout::of(&["Date", "Set 2 (Reps)", "Set 2 (Reps)"], Format::StrongLifts, &[Column::Start]);
        assert_eq!(twice.err(), Some(Mismatch::Repeated(2)));
        let huge = Layout::of(&["Date", "Set 99999999999 (Reps)"], Format::StrongLifts, &[Column::Start]);
        assert_eq!(huge.err(), Some(Mismatch::Unknown(1)));
    }
}
