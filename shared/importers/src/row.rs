//! One row of a file, read by column.

use jiff::civil::DateTime;
use rust_decimal::Decimal;
use tidemark_stats::{TypedWeight, Unit};

use crate::{
    CellProblem, ImportError, ParseOptions,
    column::{Column, Field, Layout, Stated},
    distance, number,
    timestamp::DateOrder,
    two_units,
    words::{Meaning, meaning},
};

/// Most repetitions accepted in one set. The most ever done of any exercise in a day is below it.
pub(crate) const REPS_MAX: i64 = 1_000_000;

/// Weights are below this in either unit, above and below zero: what a typed weight can hold.
pub(crate) const WEIGHT_MAX: i64 = 999_999;

/// Longest set or workout accepted, in seconds: 365 days, as in a saved workout. What is merely suspect is stored and flagged elsewhere.
pub(crate) const DURATION_SECONDS_MAX: i64 = 365 * 24 * 3600;

/// Most characters of the name of an exercise.
pub(crate) const EXERCISE_CHARACTERS_MAX: usize = 200;

/// The cells of one row and what each of them is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<'row> {
    pub(crate) line: u64,
    pub(crate) layout: &'row Layout,
    /// How the file writes dates of which the row alone does not tell the order.
    pub(crate) order: DateOrder,
    pub(crate) cells: &'row csv::StringRecord,
}

impl<'row> Row<'row> {
    /// The cell without white space around it; blank if the file has no such column.
    pub(crate) fn text(&self, column: Column) -> &'row str {
        self.layout.index(column).and_then(|index| self.cells.get(index)).map_or("", str::trim)
    }

    /// The cell, which must not be blank.
    pub(crate) fn required_text(&self, column: Column) -> Result<&'row str, ImportError> {
        match self.text(column) {
            "" => Err(self.error(column, CellProblem::Missing)),
            text => Ok(text),
        }
    }

    /// Whether nothing is in any cell.
    pub(crate) fn is_blank(&self) -> bool {
        self.cells.iter().all(|cell| cell.trim().is_empty())
    }

    /// The error of a cell. It names the column as the header does.
    pub(crate) fn error(&self, column: Column, problem: CellProblem) -> ImportError {
        let name = self.layout.index(column).and_then(|index| self.layout.fields.get(index)).map(|field| &field.name);
        ImportError::Cell { line: self.line, column: name.cloned().unwrap_or_default(), problem }
    }

    /// The cell read by `read`, or its error with line and column.
    pub(crate) fn read<T>(
        &self,
        column: Column,
        read: impl FnOnce(&'row str) -> Result<T, CellProblem>,
    ) -> Result<T, ImportError> {
        read(self.text(column)).map_err(|problem| self.error(column, problem))
    }

    /// The local start of the workout.
    pub(crate) fn start(
        &self,
        read: impl FnOnce(&'row str) -> Result<DateTime, CellProblem>,
    ) -> Result<DateTime, ImportError> {
        self.required_text(Column::Start)?;
        self.read(Column::Start, read)
    }

    /// The cell that is filled among the columns of a kind, one for each unit, and the column. Where two units say the same
    /// weight, the one that was typed.
    fn only(&self, column: Column, number: Option<u32>) -> Result<Option<(&'row str, &'row Field)>, ImportError> {
        let cells = self.layout.fields.iter().zip(self.cells).map(|(field, cell)| (cell.trim(), field));
        let mut filled =
            cells.filter(|(cell, field)| field.column == column && field.number == number && !cell.is_empty());
        let (Some(first), second) = (filled.next(), filled.next()) else { return Ok(None) };
        let Some(second) = second else { return Ok(Some(first)) };
        match two_units::typed([first, second].map(|(cell, field)| (cell, field.stated))) {
            Some(place) => Ok(Some([first, second][place])),
            None => Err(self.error_in(second.1, CellProblem::TwoUnits)),
        }
    }

    /// The error of a cell that is known by its field.
    pub(crate) fn error_in(&self, field: &Field, problem: CellProblem) -> ImportError {
        ImportError::Cell { line: self.line, column: field.name.clone(), problem }
    }

    /// The weight as typed, blank is unknown and 0 is 0; and whether it was taken in the unit of the options because none is
    /// stated.
    pub(crate) fn weight(&self, options: &ParseOptions) -> Result<(Option<TypedWeight>, bool), ImportError> {
        match self.only(Column::Weight, None)? {
            Some(filled) => self.typed_weight(filled, options),
            // A unit that is not known is refused beside a blank weight too.
            None => self.weight_unit(Stated::Nothing).map(|_| (None, false)),
        }
    }

    /// The weight of the set of this number, in a row of several sets.
    pub(crate) fn weight_of(
        &self,
        number: u32,
        options: &ParseOptions,
    ) -> Result<(Option<TypedWeight>, bool), ImportError> {
        let filled = self.only(Column::SetWeight, Some(number))?;
        filled.map_or(Ok((None, false)), |filled| self.typed_weight(filled, options))
    }

    /// The repetitions of the set of this number, in a row of several sets.
    pub(crate) fn reps_of(&self, number: u32) -> Result<Option<i32>, ImportError> {
        let Some((cell, field)) = self.only(Column::SetReps, Some(number))? else { return Ok(None) };
        number::whole(cell, 0, REPS_MAX).map_err(|problem| self.error_in(field, problem))
    }

    /// A cell as the weight that it is, in the unit that its column or its row states; and whether neither does.
    pub(crate) fn typed_weight(
        &self,
        (cell, field): (&str, &Field),
        options: &ParseOptions,
    ) -> Result<(Option<TypedWeight>, bool), ImportError> {
        let unit = self.weight_unit(field.stated)?;
        let out_of_range = CellProblem::OutOfRange { min: -WEIGHT_MAX, max: WEIGHT_MAX };
        let weight = number::decimal(cell, -WEIGHT_MAX, WEIGHT_MAX)
            .and_then(|number| {
                let typed = |value| TypedWeight::new(value, unit.unwrap_or(options.unit_or_default()));
                number.map(|value| typed(value).map_err(|_| out_of_range)).transpose()
            })
            .map_err(|problem| self.error_in(field, problem))?;
        let is_unstated = unit.is_none() && weight.is_some_and(|weight| !weight.value().is_zero());
        Ok((weight, is_unstated))
    }

    /// The unit that the row or the name of its weight column states.
    fn weight_unit(&self, stated: Stated) -> Result<Option<Unit>, ImportError> {
        let in_name = match stated {
            Stated::Kilograms => Some(Unit::Kilogram),
            Stated::Pounds => Some(Unit::Pound),
            _ => None,
        };
        let word = self.text(Column::WeightUnit);
        let in_row = match meaning(word, &[Meaning::Kilogram, Meaning::Pound]) {
            Some(Meaning::Pound) => Some(Unit::Pound),
            Some(_) => Some(Unit::Kilogram),
            None if word.is_empty() => None,
            None => return Err(self.error(Column::WeightUnit, CellProblem::UnknownUnit)),
        };
        if in_name.is_some() && in_row.is_some() && in_name != in_row {
            return Err(self.error(Column::WeightUnit, CellProblem::TwoUnits));
        }
        Ok(in_row.or(in_name))
    }

    /// The repetitions: blank is unknown, 0 is an attempt.
    pub(crate) fn reps(&self) -> Result<Option<i32>, ImportError> {
        self.read(Column::Reps, |cell| number::whole(cell, 0, REPS_MAX))
    }

    /// The time of a timed set in whole seconds, the nearest to what is written. The applications write 0 where nothing
    /// was timed, so that 0 is unknown like blank.
    pub(crate) fn seconds(&self) -> Result<Option<i64>, ImportError> {
        self.read(Column::Seconds, |cell| number::rounded(cell, 0, DURATION_SECONDS_MAX))
            .map(|seconds| seconds.filter(|&seconds| seconds != 0))
    }

    /// The distance in metres; 0 is unknown like blank, for the reason given at [`Self::seconds`].
    pub(crate) fn distance(&self, unstated: Option<distance::Unit>) -> Result<Option<Decimal>, ImportError> {
        let Some((cell, field)) = self.only(Column::Distance, None)? else { return Ok(None) };
        let problem = |problem| self.error_in(field, problem);
        let number = number::decimal(cell, 0, distance::NUMBER_MAX).map_err(problem)?;
        let Some(number) = number.filter(|number| !number.is_zero()) else { return Ok(None) };
        let word = self.text(Column::DistanceUnit);
        let unit = match field.stated {
            Stated::Meters => Some(distance::Unit::Meter),
            Stated::Kilometers => Some(distance::Unit::Kilometer),
            Stated::Miles => Some(distance::Unit::Mile),
            _ if !word.is_empty() => distance::Unit::of(word),
            _ => unstated,
        };
        let named =
            if self.layout.index(Column::DistanceUnit).is_some() { Column::DistanceUnit } else { Column::Distance };
        let unit = unit.ok_or_else(|| self.error(named, CellProblem::UnknownUnit))?;
        unit.meters(number).map(Some).map_err(problem)
    }

    /// A text of at most as many characters as a saved workout may hold.
    pub(crate) fn limited(&self, column: Column, characters_max: usize) -> Result<&'row str, ImportError> {
        let text = self.text(column);
        // Bytes are at least characters, and counting those of every cell would be dear.
        if text.len() > characters_max && text.chars().count() > characters_max {
            return Err(self.error(column, CellProblem::TooLong { characters_max }));
        }
        Ok(text)
    }

    /// The filled cells of a kind in a group of columns.
    pub(crate) fn in_group(&self, column: Column, group: u32) -> Vec<(&'row str, &'row Field)> {
        let cells = self.layout.fields.iter().zip(self.cells).map(|(field, cell)| (cell.trim(), field));
        cells.filter(|(cell, field)| field.column == column && field.group == Some(group) && !cell.is_empty()).collect()
    }

    /// The title of the workout.
    pub(crate) fn title(&self) -> Result<&'row str, ImportError> {
        self.limited(Column::Title, 500)
    }

    /// The notes on the workout or on the set.
    pub(crate) fn notes(&self, column: Column) -> Result<&'row str, ImportError> {
        self.limited(column, 20_000)
    }

    /// The name of the exercise, which must not be blank.
    pub(crate) fn exercise(&self) -> Result<String, ImportError> {
        self.required_text(Column::Exercise)?;
        self.limited(Column::Exercise, EXERCISE_CHARACTERS_MAX).map(str::to_owned)
    }

    /// The rating of perceived exertion, 0 to 10.
    pub(crate) fn rpe(&self) -> Result<Option<Decimal>, ImportError> {
        self.read(Column::Rpe, |cell| number::decimal(cell, 0, 10))
    }
}
