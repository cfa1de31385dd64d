//! One row of a file, read by column.

use jiff::civil::DateTime;
use rust_decimal::Decimal;
use tidemark_stats::{TypedWeight, Unit};

use crate::{
    CellProblem, ImportError,
    column::{Column, Layout},
    distance, number,
};

/// Most repetitions accepted in one set. The most ever done of any exercise in a day is below it.
const REPS_MAX: i64 = 1_000_000;

/// Weights are below this in either unit, above and below zero: what a typed weight can hold.
const WEIGHT_MAX: i64 = 999_999;

/// Longest set or workout accepted, in seconds: a leap year. What is merely suspect is stored and flagged elsewhere.
pub(crate) const DURATION_SECONDS_MAX: i64 = 366 * 24 * 3600;

/// The cells of one row and what each of them is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<'row> {
    pub(crate) line: u64,
    pub(crate) layout: &'row Layout,
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
        let name = self.layout.index(column).and_then(|index| self.layout.names.get(index));
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

    /// The weight as typed: blank is unknown, 0 is 0.
    pub(crate) fn weight(&self, unit: Unit) -> Result<Option<TypedWeight>, ImportError> {
        self.read(Column::Weight, |cell| {
            let out_of_range = CellProblem::OutOfRange { min: -WEIGHT_MAX, max: WEIGHT_MAX };
            number::decimal(cell, -WEIGHT_MAX, WEIGHT_MAX)?
                .map(|value| TypedWeight::new(value, unit).map_err(|_| out_of_range))
                .transpose()
        })
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
    pub(crate) fn distance(&self, unit: Option<distance::Unit>) -> Result<Option<Decimal>, ImportError> {
        let number = self
            .read(Column::Distance, |cell| number::decimal(cell, 0, distance::NUMBER_MAX))?
            .filter(|number| !number.is_zero());
        let Some(number) = number else { return Ok(None) };
        let unit = unit.ok_or_else(|| {
            let named =
                if self.layout.index(Column::DistanceUnit).is_some() { Column::DistanceUnit } else { Column::Distance };
            self.error(named, CellProblem::UnknownUnit)
        })?;
        Ok(Some(unit.meters(number)))
    }

    /// The rating of perceived exertion, 0 to 10.
    pub(crate) fn rpe(&self) -> Result<Option<Decimal>, ImportError> {
        self.read(Column::Rpe, |cell| number::decimal(cell, 0, 10))
    }
}
