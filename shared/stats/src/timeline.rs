//! Workouts in the order in which they happened, each with what its sets need to know of it.

use jiff::civil::Date;
use uuid::Uuid;

use crate::calendar::week_of;
use crate::history::{Bodyweight, History, InvalidHistory, Workout};
use crate::mass::Kilograms;
use crate::suspect::is_suspect_duration;

/// A workout ready for the hot loop: its week, bodyweight and doubts are looked up once, not once a set.
#[derive(Debug)]
pub(crate) struct TimelineEntry {
    pub(crate) id: Uuid,
    pub(crate) date: Date,
    pub(crate) week: Date,
    /// The number of distinct weeks before this one.
    pub(crate) week_rank: u32,
    /// The number of distinct months before this one.
    pub(crate) month: u32,
    /// The bodyweight valid on the date.
    pub(crate) bodyweight: Option<Kilograms>,
    pub(crate) suspect: bool,
}

/// The workouts of a history in the order (local date, local time, id).
#[derive(Debug)]
pub(crate) struct Timeline {
    pub(crate) entries: Vec<TimelineEntry>,
    /// For every workout of the history, its place in `entries`.
    ranks: Vec<u32>,
}

impl Timeline {
    pub(crate) fn of(history: &History) -> Result<Self, InvalidHistory> {
        let count = u32::try_from(history.workouts.len()).map_err(|_| InvalidHistory::TooManyRows)?;
        let mut order = (0..count).collect::<Vec<_>>();
        order.sort_by_key(|&index| {
            let workout = &history.workouts[index as usize];
            (workout.local_date, workout.local_time, workout.id)
        });
        let mut ranks = vec![0; history.workouts.len()];
        let mut entries = Vec::<TimelineEntry>::with_capacity(history.workouts.len());
        let mut bodyweights = BodyweightCursor::of(&history.bodyweights);
        for (rank, &index) in (0..count).zip(&order) {
            let workout = &history.workouts[index as usize];
            ranks[index as usize] = rank;
            let week = week_of(workout.local_date, history.profile.week_start);
            entries.push(TimelineEntry {
                id: workout.id,
                date: workout.local_date,
                week,
                week_rank: entries.last().map_or(0, |before| before.week_rank + u32::from(week != before.week)),
                month: entries.last().map_or(0, |before| before.month + u32::from(is_later_month(workout, before))),
                bodyweight: bodyweights.on(workout.local_date),
                suspect: workout.duration_seconds.is_some_and(is_suspect_duration),
            });
        }
        Ok(Self { entries, ranks })
    }

    /// The first dates of the weeks with a workout, in order.
    pub(crate) fn week_starts(&self) -> Vec<Date> {
        let mut starts = self.entries.iter().map(|workout| workout.week).collect::<Vec<_>>();
        starts.dedup();
        starts
    }

    /// The place in `entries` of the workout at `index` of the history.
    pub(crate) fn rank(&self, index: u32) -> Option<u32> {
        self.ranks.get(index as usize).copied()
    }
}

fn is_later_month(workout: &Workout, before: &TimelineEntry) -> bool {
    workout.local_date.first_of_month() != before.date.first_of_month()
}

/// The bodyweight log read forwards, for dates that only grow.
struct BodyweightCursor {
    /// By date, the heaviest of a date last.
    log: Vec<(Date, Kilograms)>,
    passed: usize,
}

impl BodyweightCursor {
    fn of(bodyweights: &[Bodyweight]) -> Self {
        let mut log = bodyweights
            .iter()
            .map(|entry| (entry.on, entry.weight.to_kilograms()))
            .filter(|&(_, mass)| mass > Kilograms::ZERO)
            .collect::<Vec<_>>();
        log.sort_unstable();
        Self { log, passed: 0 }
    }

    /// The latest bodyweight logged on or before `date`.
    fn on(&mut self, date: Date) -> Option<Kilograms> {
        while self.log.get(self.passed).is_some_and(|&(on, _)| on <= date) {
            self.passed += 1;
        }
        self.passed.checked_sub(1).map(|last| self.log[last].1)
    }
}
