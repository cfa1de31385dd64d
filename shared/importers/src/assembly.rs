//! Rows to workouts.

use std::collections::HashMap;

use jiff::civil::DateTime;

use crate::{Format, Import, ImportError, ImportedSet, ImportedWorkout, ParseOptions, SkipReason, Skipped};

/// Most sets of a workout: as many as a saved workout may hold, so that an imported one can be edited.
pub const WORKOUT_SETS_MAX: usize = 2000;

/// What one row is.
pub(crate) enum Reading<'row> {
    Set(Box<SetRow<'row>>),
    Skip(SkipReason),
}

/// A row that is a set, and what it says about its workout.
pub(crate) struct SetRow<'row> {
    pub(crate) start: DateTime,
    pub(crate) title: &'row str,
    pub(crate) workout_duration_seconds: Option<i64>,
    pub(crate) workout_notes: &'row str,
    /// Whether the row has a weight, and neither the row nor the header states its unit.
    pub(crate) has_unstated_unit: bool,
    /// Its position is given when it joins its workout.
    pub(crate) set: ImportedSet,
}

/// Collects rows into workouts: rows with the same start and title are one, wherever they stand in the file.
pub(crate) struct Assembly {
    import: Import,
    /// The titles seen with each start, and the workout of each. How many there are is the slot of the next.
    by_start: HashMap<DateTime, HashMap<String, usize>>,
    /// The workout of the row before, which is that of the next row nearly always.
    last: usize,
    /// How many sets of each workout the part of the file since its last header holds.
    in_part: HashMap<usize, usize>,
    has_unstated_unit: bool,
}

impl Assembly {
    pub(crate) fn new(format: Format) -> Self {
        let import = Import { format, rows: 0, skipped: Vec::new(), assumed_unit: None, workouts: Vec::new() };
        Self { import, by_start: HashMap::new(), last: 0, in_part: HashMap::new(), has_unstated_unit: false }
    }

    pub(crate) fn skip(&mut self, line: u64, reason: SkipReason) {
        self.import.rows += 1;
        self.import.skipped.push(Skipped { line, reason });
    }

    /// A header stood again: what follows is an export of its own, in which workouts of before may stand once more.
    pub(crate) fn begin_part(&mut self) {
        self.in_part.clear();
    }

    pub(crate) fn add(&mut self, row: SetRow<'_>) -> Result<(), ImportError> {
        self.import.rows += 1;
        self.last = self.workout_of(&row);
        self.has_unstated_unit |= row.has_unstated_unit;
        let workout = &mut self.import.workouts[self.last];
        workout.duration_seconds = workout.duration_seconds.or(row.workout_duration_seconds);
        if workout.notes.is_empty() {
            row.workout_notes.clone_into(&mut workout.notes);
        }
        let place = self.in_part.entry(self.last).or_default();
        *place += 1;
        if *place <= workout.sets.len() {
            self.import.skipped.push(Skipped { line: row.set.line, reason: SkipReason::Repeated });
            return Ok(());
        }
        if workout.sets.len() == WORKOUT_SETS_MAX {
            return Err(ImportError::WorkoutTooLarge { line: row.set.line });
        }
        let position = u32::try_from(workout.sets.len()).unwrap_or(u32::MAX);
        workout.sets.push(ImportedSet { position, ..row.set });
        Ok(())
    }

    pub(crate) fn finish(self, options: &ParseOptions) -> Import {
        let is_assumed = self.has_unstated_unit && options.unit.is_none();
        Import { assumed_unit: is_assumed.then(|| options.unit_or_default()), ..self.import }
    }

    fn workout_of(&mut self, row: &SetRow<'_>) -> usize {
        let last = self.import.workouts.get(self.last);
        if last.is_some_and(|workout| workout.local_start == row.start && workout.title == row.title) {
            return self.last;
        }
        let titles = self.by_start.entry(row.start).or_default();
        if let Some(&index) = titles.get(row.title) {
            return index;
        }
        let index = self.import.workouts.len();
        let slot = u32::try_from(titles.len()).unwrap_or(u32::MAX);
        titles.insert(row.title.to_owned(), index);
        self.import.workouts.push(ImportedWorkout {
            source: self.import.format.source(),
            local_start: row.start,
            slot,
            duration_seconds: None,
            title: row.title.to_owned(),
            notes: String::new(),
            sets: Vec::new(),
        });
        index
    }
}
