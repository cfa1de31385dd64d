//! Streaks of consecutive training weeks.

use jiff::civil::{Date, Weekday};

use crate::calendar::{next_week, week_of};

/// The streak as of `today`, from the stored end of the last one.
///
/// The running week neither breaks a streak nor is needed: it lives while the last training week is the running or the
/// previous one (or lies ahead, for a workout dated in the future), and is 0 afterwards.
pub fn current_streak(
    last_training_week: Option<Date>,
    last_streak_weeks: u32,
    week_start: Weekday,
    today: Date,
) -> u32 {
    let running = week_of(today, week_start);
    match last_training_week {
        Some(last) if last >= running || next_week(last).is_some_and(|next| next >= running) => last_streak_weeks,
        _ => 0,
    }
}

/// The longest and the last streak of a person, fed with training weeks in order.
#[derive(Debug, Default)]
pub(crate) struct Streaks {
    pub(crate) last_week: Option<Date>,
    pub(crate) last_weeks: u32,
    pub(crate) longest_weeks: u32,
    pub(crate) longest_started_on: Option<Date>,
    last_started_on: Option<Date>,
}

impl Streaks {
    /// Takes the first date of a training week, not earlier than the one before.
    pub(crate) fn add(&mut self, week: Date) {
        if self.last_week == Some(week) {
            return;
        }
        if self.last_week.and_then(next_week) == Some(week) {
            self.last_weeks += 1;
        } else {
            self.last_weeks = 1;
            self.last_started_on = Some(week);
        }
        self.last_week = Some(week);
        if self.last_weeks > self.longest_weeks {
            self.longest_weeks = self.last_weeks;
            self.longest_started_on = self.last_started_on;
        }
    }
}
