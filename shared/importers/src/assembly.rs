//! Rows to workouts.

use std::collections::HashMap;

use jiff::civil::DateTime;

use crate::{
    Import, ImportError, ImportedSet, ImportedWorkout, ParseOptions, SkipReason, Skipped,
    format::{Grouping, Reader},
};

/// Most sets of a workout: as many as a saved workout may hold, so that an imported one can be edited.
pub const WORKOUT_SETS_MAX: usize = 2000;

/// What one row is.
pub(crate) enum Reading<'row> {
    Sets(Box<WorkoutRow<'row>>),
    Skip(SkipReason),
}

/// A row that holds sets, nearly always one, and what it says about their workout.
#[derive(Default)]
pub(crate) struct WorkoutRow<'row> {
    pub(crate) start: DateTime,
    /// Whether the start is the instant in UTC, and no local time.
    pub(crate) is_utc: bool,
    pub(crate) title: &'row str,
    /// What tells workouts of one start apart; where it is blank, the title does.
    pub(crate) number: &'row str,
    pub(crate) workout_duration_seconds: Option<i64>,
    pub(crate) workout_notes: &'row str,
    /// Whether the row has a weight, and neither the row nor the header states its unit.
    pub(crate) has_unstated_unit: bool,
    /// Their positions are given when they join their workout.
    pub(crate) sets: Vec<ImportedSet>,
}

impl WorkoutRow<'_> {
    /// A row that tells a start and nothing else yet.
    pub(crate) fn of(start: DateTime) -> Self {
        Self { start, ..Self::default() }
    }
}

/// Collects rows into workouts: rows with the same start and title are one, wherever they stand in the file.
pub(crate) struct Assembly {
    import: Import,
    grouping: Grouping,
    /// The titles seen with each start, and the workout of each. How many there are is the slot of the next.
    by_start: HashMap<DateTime, HashMap<String, usize>>,
    /// What each workout is known by: the start and title of its rows.
    keys: Vec<(DateTime, String)>,
    /// The workout of the row before, which is that of the next row nearly always.
    last: usize,
    /// How many sets of each workout the part of the file since its last header holds.
    in_part: HashMap<usize, usize>,
    has_unstated_unit: bool,
}

impl Assembly {
    pub(crate) fn new(reader: &Reader) -> Self {
        let format = reader.format;
        Self {
            import: Import { format, rows: 0, skipped: Vec::new(), assumed_unit: None, workouts: Vec::new() },
            grouping: reader.grouping,
            by_start: HashMap::new(),
            keys: Vec::new(),
            last: 0,
            in_part: HashMap::new(),
            has_unstated_unit: false,
        }
    }

    pub(crate) fn skip(&mut self, line: u64, reason: SkipReason) {
        self.import.rows += 1;
        self.import.skipped.push(Skipped { line, reason });
    }

    /// A header stood again: what follows is an export of its own, in which workouts of before may stand once more.
    pub(crate) fn begin_part(&mut self) {
        self.in_part.clear();
    }

    pub(crate) fn add(&mut self, line: u64, row: WorkoutRow<'_>) -> Result<(), ImportError> {
        self.import.rows += 1;
        self.last = self.workout_of(&row);
        self.has_unstated_unit |= row.has_unstated_unit;
        let workout = &mut self.import.workouts[self.last];
        workout.duration_seconds = workout.duration_seconds.or(row.workout_duration_seconds);
        if workout.notes.is_empty() {
            row.workout_notes.clone_into(&mut workout.notes);
        }
        // Rows may come in any order; the first set of a day begins its workout.
        workout.local_start = workout.local_start.min(row.start);
        let known = workout.sets.len();
        let place = self.in_part.entry(self.last).or_default();
        for set in row.sets {
            *place += 1;
            if *place <= known {
                continue;
            }
            if workout.sets.len() == WORKOUT_SETS_MAX {
                return Err(ImportError::WorkoutTooLarge { line });
            }
            let position = u32::try_from(workout.sets.len()).unwrap_or(u32::MAX);
            workout.sets.push(ImportedSet { position, ..set });
        }
        if workout.sets.len() == known {
            self.import.skipped.push(Skipped { line, reason: SkipReason::Repeated });
        }
        Ok(())
    }

    pub(crate) fn finish(mut self, options: &ParseOptions) -> Import {
        if self.grouping == Grouping::Day {
            self.give_slots();
        }
        let is_assumed = self.has_unstated_unit && options.unit.is_none();
        Import { assumed_unit: is_assumed.then(|| options.unit_or_default()), ..self.import }
    }

    /// Gives slots by the starts that are known only now.
    fn give_slots(&mut self) {
        let mut slots: HashMap<DateTime, u32> = HashMap::new();
        for workout in &mut self.import.workouts {
            let next = slots.entry(workout.local_start).or_default();
            workout.slot = *next;
            *next += 1;
        }
    }

    fn workout_of(&mut self, row: &WorkoutRow<'_>) -> usize {
        let start = match self.grouping {
            Grouping::Start => row.start,
            Grouping::Day => row.start.date().at(0, 0, 0, 0),
        };
        let title = if row.number.is_empty() { row.title } else { row.number };
        if self.keys.get(self.last).is_some_and(|(at, known)| *at == start && known == title) {
            return self.last;
        }
        let titles = self.by_start.entry(start).or_default();
        if let Some(&index) = titles.get(title) {
            return index;
        }
        let index = self.import.workouts.len();
        let slot = u32::try_from(titles.len()).unwrap_or(u32::MAX);
        titles.insert(title.to_owned(), index);
        self.keys.push((start, title.to_owned()));
        self.import.workouts.push(ImportedWorkout {
            source: self.import.format.source(),
            local_start: row.start,
            is_utc: row.is_utc,
            slot,
            duration_seconds: None,
            title: row.title.to_owned(),
            notes: String::new(),
            sets: Vec::new(),
        });
        index
    }
}
