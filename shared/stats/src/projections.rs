//! From a history to the rows of all tables, in one pass over the sorted sets.

use serde::Serialize;

use crate::catalogue::Catalogue;
use crate::exercise_stats::{Bests, ExerciseStats, PerformedDays};
use crate::history::{History, InvalidHistory, Set};
use crate::mass::Kilograms;
use crate::muscle::muscles_of;
use crate::muscle_week::{MuscleTallies, MuscleWeek};
use crate::record::Sighting;
use crate::rep_max::{RepMax, RepMaxTable};
use crate::set_chain::SetChain;
use crate::set_facts::{Feat, SetFacts};
use crate::summary::{MonthTallies, Summary};
use crate::tally::Tally;
use crate::timeline::{Timeline, TimelineEntry};
use crate::weekly::{ExerciseWeek, OpenWeek};

/// The rows of every published table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Projections {
    /// One row for each exercise with at least one set, by exercise id.
    pub exercises: Vec<ExerciseStats>,
    /// By exercise id and repetitions.
    pub rep_maxes: Vec<RepMax>,
    /// By exercise id and week; one row for each week with a set row.
    pub weekly: Vec<ExerciseWeek>,
    /// By muscle and week; one row for each week with a set row of an exercise that works the muscle.
    pub muscles: Vec<MuscleWeek>,
    /// Totals.
    pub summary: Summary,
}

/// Computes every row from a history. Takes time in proportion to n log n of the sets and no memory for a set beyond
/// one sort key and the records it makes.
///
/// # Errors
/// [`InvalidHistory`] when indices, merges or attributes make no sense; nothing is computed then.
pub fn compute(history: &History) -> Result<Projections, InvalidHistory> {
    let timeline = Timeline::of(history)?;
    let catalogue = Catalogue::of(&history.exercises)?;
    let keys = sorted_keys(history, &timeline, &catalogue)?;
    let mut months = MonthTallies::new(&timeline);
    let mut muscles = MuscleTallies::new(&timeline);
    let (mut exercises, mut rep_maxes, mut weekly) = (Vec::new(), Vec::new(), Vec::new());
    let mut volumes = Kilograms::ZERO;
    for group in keys.chunk_by(|left, right| left.exercise() == right.exercise()) {
        let entry = &catalogue.entries[group[0].exercise()];
        let mut reading = ExerciseReading::new(&timeline.entries[group[0].workout_rank()]);
        for key in group {
            let set = &history.sets[key.set()];
            let workout = &timeline.entries[key.workout_rank()];
            let facts = SetFacts::of(set, entry, workout, &history.profile);
            volumes = with_volumes(volumes, &facts)?;
            months.add(workout.month, reading.add(key.workout_rank(), set, workout, &facts));
        }
        reading.close_week();
        let worked = muscles_of(&entry.exercise.name);
        for week in &reading.weeks {
            muscles.add(week.week_rank, worked, &week.tally);
        }
        weekly.extend(reading.weeks.iter().map(|week| week.row(entry.exercise.id)));
        rep_maxes.extend(reading.rep_maxes.rows(entry.exercise.id));
        exercises.push(reading.bests.row(entry.exercise, history.profile.formula, &reading.tally, &reading.days));
    }
    let summary = months.summary(&timeline, exercises.len());
    Ok(Projections { exercises, rep_maxes, weekly, muscles: muscles.rows(&timeline), summary })
}

/// No sum of the history is larger than that of all sizes, so one check stands for all of them.
fn with_volumes(volumes: Kilograms, facts: &SetFacts) -> Result<Kilograms, InvalidHistory> {
    volumes
        .checked_add(facts.logged_volume.abs())
        .and_then(|volumes| volumes.checked_add(facts.effective_volume))
        .ok_or(InvalidHistory::VolumeTooLarge)
}

/// Where a set is read: by exercise, then in the order of time. One integer, so that sorting a million of them moves
/// 16 bytes each and follows no pointer. From the top: exercise, workout rank, position, index of the set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SetKey(u128);

impl SetKey {
    fn new(exercise: u32, workout_rank: u32, position: i32, set: u32) -> Self {
        // Flipping the sign bit makes the unsigned order that of the signed positions.
        let position = position.cast_unsigned() ^ (1 << 31);
        let parts = [exercise, workout_rank, position, set];
        Self(parts.into_iter().fold(0, |key, part| key << u32::BITS | u128::from(part)))
    }

    fn part(self, from_the_right: u32) -> u32 {
        (self.0 >> (from_the_right * u32::BITS)) as u32
    }

    fn exercise(self) -> usize {
        self.part(3) as usize
    }

    fn workout_rank(self) -> usize {
        self.part(2) as usize
    }

    fn set(self) -> usize {
        self.part(0) as usize
    }
}

fn sorted_keys(
    history: &History,
    timeline: &Timeline,
    catalogue: &Catalogue<'_>,
) -> Result<Vec<SetKey>, InvalidHistory> {
    let mut keys = Vec::with_capacity(history.sets.len());
    for (set, row) in history.sets.iter().enumerate() {
        let index = u32::try_from(set).map_err(|_| InvalidHistory::TooManyRows)?;
        let rank = timeline.rank(row.workout).ok_or(InvalidHistory::SetWithoutWorkout { set })?;
        let exercise = catalogue.target(row.exercise).ok_or(InvalidHistory::SetWithoutExercise { set })?;
        if row.reps.is_some_and(|reps| reps < 0) {
            let workout = history.workouts[row.workout as usize].id;
            return Err(InvalidHistory::NegativeReps { workout, position: row.position });
        }
        keys.push(SetKey::new(exercise, rank, row.position, index));
    }
    keys.sort_unstable();
    Ok(keys)
}

/// One exercise while its sets go by in the order of time.
struct ExerciseReading {
    chain: SetChain,
    tally: Tally,
    days: PerformedDays,
    bests: Bests,
    rep_maxes: RepMaxTable,
    /// The weeks that are over.
    weeks: Vec<OpenWeek>,
    week: OpenWeek,
}

impl ExerciseReading {
    fn new(first: &TimelineEntry) -> Self {
        Self {
            chain: SetChain::default(),
            tally: Tally::default(),
            days: PerformedDays::default(),
            bests: Bests::default(),
            rep_maxes: RepMaxTable::default(),
            weeks: Vec::new(),
            week: OpenWeek::new(first),
        }
    }

    /// Takes the next set and gives back what it adds to any tally.
    fn add(&mut self, workout_rank: usize, set: &Set, workout: &TimelineEntry, facts: &SetFacts) -> Tally {
        if self.week.week_start != workout.week {
            self.close_week();
            self.week = OpenWeek::new(workout);
        }
        let row = Tally::of(facts, self.chain.adds_set(workout_rank, set.kind, facts.is_attempt));
        self.week.tally += row;
        if facts.is_working && !facts.is_attempt {
            self.days.add(workout);
        }
        if let Some(feat) = &facts.feat {
            self.observe(feat, set.position, workout);
        }
        row
    }

    fn observe(&mut self, feat: &Feat, position: i32, workout: &TimelineEntry) {
        let sighting =
            Sighting { workout_id: workout.id, position, on: workout.date, reps: feat.reps, load: feat.load };
        self.bests.observe(feat, sighting);
        self.week.best_estimate = self.week.best_estimate.max(feat.estimate);
        if let Some((load, reps)) = feat.load.zip(feat.reps) {
            self.rep_maxes.observe(load, reps, sighting);
        }
    }

    fn close_week(&mut self) {
        self.tally += self.week.tally;
        self.weeks.push(self.week);
    }
}
