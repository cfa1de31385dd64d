//! Weeks and months of local dates. Steps are calendar days, never spans of 24 hours.

use jiff::ToSpan;
use jiff::civil::{Date, Weekday};

/// Days in a week.
const WEEK_DAYS: i32 = 7;

/// The first date of the week that holds `date`, when weeks begin on `week_start`.
pub fn week_of(date: Date, week_start: Weekday) -> Date {
    date.saturating_sub(i32::from(date.weekday().since(week_start)).days())
}

/// The week after the one that begins on `week`; none at the end of the calendar.
pub(crate) fn next_week(week: Date) -> Option<Date> {
    week.checked_add(WEEK_DAYS.days()).ok()
}

/// The ISO year and week, such as `2024-W05`, shown for the week that begins on `week`.
///
/// That is the ISO week holding the fourth day, and so most days, of the person's week. For a Monday start it is the
/// ISO week of the week itself; for every other start consecutive weeks still get consecutive labels.
pub fn iso_week(week: Date) -> String {
    let label = week.saturating_add(3.days()).iso_week_date();
    format!("{:04}-W{:02}", label.year(), label.week())
}

/// The month of a date, such as `2025-01`.
pub(crate) fn month(date: Date) -> String {
    format!("{:04}-{:02}", date.year(), date.month())
}
