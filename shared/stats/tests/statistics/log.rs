//! A training log in few words, for tests.

use jiff::civil::{Date, DateTime, Weekday};
use rust_decimal::Decimal;
use tidemark_stats::{
    Bodyweight, Exercise, ExerciseStats, Formula, History, Kilograms, LoadKind, Projections, RecordKind, Set, SetKind,
    TypedWeight, Unit, Workout, compute,
};
use uuid::Uuid;

/// Reads `100 kg` or `22.5 lb`.
pub(crate) fn weight(text: &str) -> TypedWeight {
    let (value, unit) = text.split_once(' ').unwrap();
    TypedWeight::new(value.parse().unwrap(), unit.parse().unwrap()).unwrap()
}

pub(crate) fn decimal(text: &str) -> Decimal {
    text.parse().unwrap()
}

pub(crate) fn date(text: &str) -> Date {
    text.parse().unwrap()
}

/// A set of an external exercise.
pub(crate) fn lift(workout: u32, exercise: u32, text: &str, reps: i32) -> Set {
    Set {
        workout,
        exercise,
        position: 0,
        kind: SetKind::Normal,
        weight: Some(weight(text)),
        reps: Some(reps),
        duration_seconds: None,
        distance_meters: None,
    }
}

#[derive(Debug, Default, Clone)]
pub(crate) struct Log(pub(crate) History);

impl Log {
    /// A log with one external exercise, which is exercise 0.
    pub(crate) fn lifting() -> Self {
        let mut log = Self::default();
        log.exercise(LoadKind::External);
        log
    }

    pub(crate) fn of_kind(load: LoadKind) -> Self {
        let mut log = Self::default();
        log.exercise(load);
        log
    }

    pub(crate) fn epley(mut self) -> Self {
        self.0.profile.formula = Formula::Epley;
        self
    }

    pub(crate) fn week_start(mut self, week_start: Weekday) -> Self {
        self.0.profile.week_start = week_start;
        self
    }

    pub(crate) fn bodyweight(mut self, on: &str, text: &str) -> Self {
        self.0.bodyweights.push(Bodyweight { on: date(on), weight: weight(text) });
        self
    }

    pub(crate) fn exercise(&mut self, load: LoadKind) -> u32 {
        let index = u32::try_from(self.0.exercises.len()).unwrap();
        self.0.exercises.push(Exercise {
            id: Uuid::from_u128(u128::from(index) + 1),
            name: format!("Exercise {index}"),
            load,
            bodyweight_share: Decimal::ONE,
            implements: 1,
            per_side: false,
            merged_into: None,
        });
        index
    }

    /// Adds a workout at a local date, or date and time.
    pub(crate) fn workout(&mut self, at: &str) -> u32 {
        let start: DateTime = at.parse().unwrap();
        let index = u32::try_from(self.0.workouts.len()).unwrap();
        self.0.workouts.push(Workout {
            id: Uuid::from_u128(u128::from(index) + 1000),
            local_date: start.date(),
            local_time: start.time(),
            duration_seconds: Some(3600),
        });
        index
    }

    /// Adds a set at the next position of its workout.
    pub(crate) fn add(&mut self, set: Set) -> &mut Self {
        let position = self.0.sets.iter().filter(|other| other.workout == set.workout).count();
        self.0.sets.push(Set { position: i32::try_from(position).unwrap(), ..set });
        self
    }

    /// Adds a workout with sets of exercise 0.
    pub(crate) fn day(mut self, at: &str, sets: &[(&str, i32)]) -> Self {
        let workout = self.workout(at);
        for &(text, reps) in sets {
            self.add(lift(workout, 0, text, reps));
        }
        self
    }

    pub(crate) fn compute(&self) -> Projections {
        compute(&self.0).unwrap()
    }

    /// The row of the only exercise with sets.
    pub(crate) fn stats(&self) -> ExerciseStats {
        let mut rows = self.compute().exercises;
        assert_eq!(rows.len(), 1, "one exercise has sets");
        rows.remove(0)
    }
}

/// Dates and reps of the records of one kind.
pub(crate) fn records(stats: &ExerciseStats, kind: RecordKind) -> Vec<(String, String)> {
    let of_kind = stats.records.iter().filter(|record| record.kind == kind);
    of_kind.map(|record| (record.on.to_string(), written(&record.value))).collect()
}

/// The text under which a value is stored.
pub(crate) fn written(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).unwrap().as_str().unwrap().to_owned()
}

pub(crate) fn kilograms(mass: Option<Kilograms>) -> Option<String> {
    mass.map(|mass| mass.to_string())
}

pub(crate) fn pounds(mass: Option<Kilograms>, decimals: u32) -> Option<Decimal> {
    mass.map(|mass| mass.to_unit_rounded(Unit::Pound, decimals))
}
