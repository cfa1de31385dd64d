use jiff::Timestamp;
use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use tidemark_stats::{Projections, iso_week, week_of};

use crate::log::{Log, date};

/// One lift at an instant, filed under the local date of the zone.
fn lifted_at(instant: &str, zone: &str) -> Projections {
    let instant: Timestamp = instant.parse().unwrap();
    let local = instant.to_zoned(TimeZone::get(zone).unwrap()).datetime();
    Log::lifting().day(&local.to_string(), &[("100 kg", 5)]).compute()
}

#[test]
fn c18_a_workout_after_midnight_belongs_to_its_local_date_and_week() {
    let projections = lifted_at("2023-12-18T00:55+05:30", "Asia/Kolkata");
    assert_eq!(projections.exercises[0].first_performed_on, Some(date("2023-12-18")));
    assert_eq!(projections.weekly[0].iso_week, "2023-W51");
}

#[test]
fn c19_new_year_at_midnight_belongs_to_january() {
    let projections = lifted_at("2025-01-01T00:00+01:00", "Europe/Paris");
    assert_eq!(projections.summary.monthly[0].month, "2025-01");
    assert_eq!(projections.summary.first_performed_on, Some(date("2025-01-01")));
}

#[test]
fn c21_one_rule_gives_the_week_for_any_start() {
    let days = ["2026-01-24", "2026-01-25", "2026-01-26"];
    let weeks = |start| {
        let mut log = Log::lifting().week_start(start);
        for day in days {
            log = log.day(day, &[("100 kg", 5)]);
        }
        log.compute().weekly.iter().map(|row| (row.week_start.to_string(), row.sets)).collect::<Vec<_>>()
    };
    assert_eq!(weeks(Weekday::Monday), [("2026-01-19".to_owned(), 2), ("2026-01-26".to_owned(), 1)]);
    assert_eq!(weeks(Weekday::Sunday), [("2026-01-18".to_owned(), 1), ("2026-01-25".to_owned(), 2)]);
}

#[test]
fn c22_a_sunday_evening_belongs_to_the_week_that_ends_with_it() {
    let projections = lifted_at("2026-07-20T00:30Z", "America/Los_Angeles");
    assert_eq!(projections.weekly[0].iso_week, "2026-W29");
    assert_eq!(projections.weekly[0].week_start, date("2026-07-13"));
}

#[test]
fn c24_an_evening_workout_is_on_one_day_only() {
    let projections = lifted_at("2025-06-03T19:05-04:00", "America/New_York");
    let stats = &projections.exercises[0];
    let day = Some(date("2025-06-03"));
    assert_eq!((stats.first_performed_on, stats.last_performed_on, stats.training_days), (day, day, 1));
}

#[test]
fn c25_a_day_of_25_hours_is_one_day() {
    let zone = TimeZone::get("Europe/Amsterdam").unwrap();
    let mut log = Log::lifting();
    // Every hour of three days, the longest of which has 25.
    let first = date("2018-10-27").to_zoned(zone.clone()).unwrap().timestamp();
    for hour in 0..73 {
        let local = (first + jiff::SignedDuration::from_hours(hour)).to_zoned(zone.clone()).datetime();
        log = log.day(&local.to_string(), &[("100 kg", 1)]);
    }
    let summary = log.compute().summary;
    assert_eq!((summary.training_days, summary.workouts), (3, 73));
    assert_eq!(summary.last_performed_on, Some(date("2018-10-29")));
}

#[test]
fn c42_weeks_of_different_years_stay_apart() {
    let log = Log::lifting().day("2024-02-01", &[("10 kg", 5)]).day("2025-01-28", &[("10 kg", 5)]);
    let weeks = log.compute().weekly;
    let volumes = weeks.iter().map(|row| (row.iso_week.as_str(), row.working_volume_kg.to_string()));
    assert_eq!(volumes.collect::<Vec<_>>(), [("2024-W05", "50".to_owned()), ("2025-W05", "50".to_owned())]);
}

#[test]
fn a_week_holds_its_seven_dates_for_every_start() {
    for start in Weekday::Monday.cycle_forward().take(7) {
        let week = week_of(date("2024-02-29"), start);
        assert_eq!(week.weekday(), start);
        let dates = week.series(jiff::Span::new().days(1)).take(7).collect::<Vec<_>>();
        assert!(dates.contains(&date("2024-02-29")));
        assert!(dates.iter().all(|&date| week_of(date, start) == week));
    }
}

#[test]
fn the_iso_week_shown_is_the_one_that_holds_most_of_the_week() {
    assert_eq!(iso_week(date("2024-12-30")), "2025-W01");
    assert_eq!(iso_week(date("2024-12-29")), "2025-W01", "Sunday start");
    assert_eq!(iso_week(date("2024-12-28")), "2025-W01", "Saturday start");
    for start in Weekday::Monday.cycle_forward().take(7) {
        let labels = (0..60).map(|week| iso_week(week_of(date("2020-12-01"), start) + jiff::Span::new().weeks(week)));
        let labels = labels.collect::<Vec<_>>();
        assert!(labels.is_sorted_by(|earlier, later| earlier < later), "{start:?}: labels are distinct and in order");
    }
}

#[test]
fn training_days_and_months_count_distinct_local_dates() {
    let log = Log::lifting()
        .day("2025-01-31T06:00", &[("100 kg", 1)])
        .day("2025-01-31T18:00", &[("100 kg", 1)])
        .day("2025-02-01", &[("100 kg", 2)]);
    let projections = log.compute();
    assert_eq!((projections.summary.workouts, projections.summary.training_days), (3, 2));
    assert_eq!(projections.exercises[0].training_days, 2);
    let months = projections.summary.monthly.iter().map(|m| (m.month.as_str(), m.workouts, m.training_days, m.reps));
    assert_eq!(months.collect::<Vec<_>>(), [("2025-01", 2, 1, 2), ("2025-02", 1, 1, 2)]);
}
