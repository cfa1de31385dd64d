use jiff::civil::{Date, date};
use jiff::{SignedDuration, ToSpan, Zoned};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::*;

const ZONES: [&str; 5] =
    ["Europe/Berlin", "America/New_York", "Pacific/Chatham", "Asia/Kolkata", "Australia/Lord_Howe"];
const MINUTE: SignedDuration = SignedDuration::from_mins(1);

fn timetable(expression: &str, zone: &str) -> Timetable {
    Timetable::new(expression, zone).unwrap_or_else(|unusable| panic!("{expression:?} in {zone}: {unusable}"))
}

/// So many instants after `after`, as the zone's clock shows them.
fn plan(expression: &str, zone: &str, after: &str, number: usize) -> Vec<String> {
    let timetable = timetable(expression, zone);
    let mut instant: Timestamp = after.parse().expect("an instant");
    let mut planned = Vec::new();
    for _each in 0..number {
        instant = timetable.next_after(instant).expect("it comes true again");
        planned.push(instant.to_zoned(timetable.zone.clone()).strftime("%m-%d %H:%M %:z").to_string());
    }
    planned
}

#[test]
fn a_daily_schedule_fires_once_on_each_day_on_which_the_clock_is_changed() {
    assert_eq!(
        plan("5 2 * * *", "Europe/Berlin", "2026-03-27T12:00:00Z", 3),
        ["03-28 02:05 +01:00", "03-29 03:00 +02:00", "03-30 02:05 +02:00"]
    );
    assert_eq!(
        plan("5 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2),
        ["10-25 02:05 +02:00", "10-26 02:05 +01:00"]
    );
}

#[test]
fn ticking_every_second_fires_a_daily_schedule_once_per_local_day() {
    let daily = timetable("5 2 * * *", "Europe/Berlin");
    for day in [date(2026, 3, 28), date(2026, 10, 24)] {
        let start = day.at(0, 0, 0, 0).in_tz("Europe/Berlin").expect("it is a real time");
        let (mut now, end) = (start.timestamp(), start.timestamp() + SignedDuration::from_hours(71));
        let mut planned = daily.next_after(now).expect("it comes true again");
        let mut days = Vec::new();
        while now < end {
            now += SignedDuration::from_secs(1);
            if planned <= now {
                days.push(Zoned::new(planned, daily.zone.clone()).date());
                planned = daily.next_after(now).expect("it comes true again");
            }
        }
        let expected: Vec<Date> = day.series(1.day()).take(3).collect();
        assert_eq!(days, expected);
    }
}

#[test]
fn fixed_times_within_one_gap_fire_once_together_at_its_end() {
    assert_eq!(
        plan("0,30 2,3 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", 3),
        ["03-29 03:00 +02:00", "03-29 03:30 +02:00", "03-30 02:00 +02:00"]
    );
}

#[test]
fn fixed_times_of_a_repeated_hour_fire_the_first_time_only() {
    assert_eq!(
        plan("0,30 2,3 * * *", "Europe/Berlin", "2026-10-24T23:00:00Z", 4),
        ["10-25 02:00 +02:00", "10-25 02:30 +02:00", "10-25 03:00 +01:00", "10-25 03:30 +01:00"]
    );
    // Asked in the second of the two hours, 02:30 is over.
    assert_eq!(plan("30 2 * * *", "Europe/Berlin", "2026-10-25T01:10:00Z", 1), ["10-26 02:30 +01:00"]);
}

#[test]
fn every_ten_minutes_is_ten_minutes_of_elapsed_time_through_every_change() {
    for (zone, around) in [
        ("Europe/Berlin", "2026-03-29T00:00:00Z"),
        ("Europe/Berlin", "2026-10-24T23:00:00Z"),
        ("Australia/Lord_Howe", "2026-10-03T14:00:00Z"),
        ("Australia/Lord_Howe", "2026-04-04T13:00:00Z"),
    ] {
        let timetable = timetable("*/10 * * * *", zone);
        let start: Timestamp = around.parse().expect("an instant");
        let mut instant = start;
        for number in 1..=30 {
            instant = timetable.next_after(instant).expect("it comes true again");
            assert_eq!(instant, start + SignedDuration::from_mins(10 * number), "{zone}");
        }
    }
}

#[test]
fn every_hour_fires_once_in_each_hour_that_the_clock_shows() {
    assert_eq!(
        plan("15 * * * *", "Europe/Berlin", "2026-10-24T23:30:00Z", 3),
        ["10-25 02:15 +02:00", "10-25 02:15 +01:00", "10-25 03:15 +01:00"]
    );
    assert_eq!(
        plan("15 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", 2),
        ["03-29 01:15 +01:00", "03-29 03:15 +02:00"]
    );
}

#[test]
fn an_hour_that_the_clock_never_shows_does_not_fire_at_the_instant_of_the_change() {
    assert_eq!(
        plan("0 */2 * * *", "Europe/Berlin", "2026-03-28T22:30:00Z", 2),
        ["03-29 00:00 +01:00", "03-29 04:00 +02:00"]
    );
    assert_eq!(
        plan("0 */3 * * *", "Europe/Berlin", "2026-10-24T21:30:00Z", 2),
        ["10-25 00:00 +02:00", "10-25 03:00 +01:00"]
    );
}

#[test]
fn a_change_of_thirty_minutes_is_followed_like_one_of_an_hour() {
    // Spring: 02:00 becomes 02:30. Autumn: 02:00 becomes 01:30.
    assert_eq!(
        plan("10 2 * * *", "Australia/Lord_Howe", "2026-10-02T16:00:00Z", 2),
        ["10-04 02:30 +11:00", "10-05 02:10 +11:00"]
    );
    assert_eq!(
        plan("45 1 * * *", "Australia/Lord_Howe", "2026-04-04T13:00:00Z", 2),
        ["04-05 01:45 +11:00", "04-06 01:45 +10:30"]
    );
}

#[test]
fn a_day_that_a_zone_leaves_out_as_a_whole_fires_at_the_first_instant_after_it() {
    assert_eq!(
        plan("0 9 * * *", "Pacific/Apia", "2011-12-29T12:00:00Z", 4),
        ["12-29 09:00 -10:00", "12-31 00:00 +14:00", "12-31 09:00 +14:00", "01-01 09:00 +14:00"]
    );
}

#[test]
fn an_instant_that_is_planned_is_not_its_own_successor_however_small_the_difference() {
    let daily = timetable("0 12 * * *", "UTC");
    let noon: Timestamp = "2026-07-19T12:00:00Z".parse().expect("an instant");
    for (after, days) in [(-1, 0), (0, 1), (1, 1), (999_999_999, 1)] {
        let next = daily.next_after(noon + SignedDuration::from_nanos(after)).expect("it comes true again");
        assert_eq!(next, noon + SignedDuration::from_hours(24 * days), "{after} ns after noon");
    }
}

#[test]
fn a_zone_that_nobody_knows_is_refused() {
    for zone in ["", "Mars/Olympus", "Europe/Berlin ", "+02:00", "Etc/Unknown", "CET\0", "../Europe/Berlin"] {
        let refusal = Timetable::new("0 0 * * *", zone).expect_err(zone);
        assert_eq!(refusal, Unusable::TimeZone, "{zone}");
        assert!(!refusal.to_string().contains("Mars"));
    }
}

/// An expression as its parts, so that a test can tell without the library what it means.
#[derive(Debug, Clone)]
struct Parts {
    minutes: Vec<i8>,
    hours: Vec<i8>,
    weekdays: Vec<i8>,
    written: String,
    by_the_clock: bool,
}

impl Parts {
    fn fits(&self, local: DateTime) -> bool {
        self.minutes.contains(&local.minute())
            && self.hours.contains(&local.hour())
            && self.weekdays.contains(&local.weekday().to_sunday_zero_offset())
    }

    /// Whether the schedule fires at `instant`, a whole minute, judged by that minute and the one before it alone.
    fn fires_at(&self, zone: &TimeZone, instant: Timestamp) -> bool {
        let local = zone.to_datetime(instant);
        if self.by_the_clock {
            return self.fits(local);
        }
        let shown_before = zone.to_ambiguous_timestamp(local).earlier().expect("within range") < instant;
        let before = zone.to_datetime(instant - MINUTE);
        let mut left_out = std::iter::successors(Some(before + MINUTE), |local| Some(*local + MINUTE))
            .take_while(|missing| *missing < local);
        (self.fits(local) && !shown_before) || left_out.any(|missing| self.fits(missing))
    }
}

fn listed(values: &[i8]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// A field as a list, a step over everything, or everything; with its values and whether it is written with a star.
fn field(values: std::ops::Range<i8>, at_most: usize) -> impl Strategy<Value = (Vec<i8>, String, bool)> {
    let all: Vec<i8> = values.clone().collect();
    let every = values.clone();
    prop_oneof![
        4 => subsequence(all.clone(), 1..=at_most).prop_map(|chosen| { let text = listed(&chosen); (chosen, text, false) }),
        1 => (2..values.end).prop_map(move |step| {
            (every.clone().step_by(usize::from(step.unsigned_abs())).collect(), format!("*/{step}"), true)
        }),
        1 => Just((all, "*".to_owned(), true)),
    ]
}

fn parts() -> impl Strategy<Value = Parts> {
    (field(0..60, 4), field(0..24, 6), field(0..7, 7)).prop_map(|(minute, hour, weekday)| Parts {
        written: format!("{} {} * * {}", minute.1, hour.1, weekday.1),
        by_the_clock: minute.2 || hour.2,
        minutes: minute.0,
        hours: hour.0,
        weekdays: weekday.0,
    })
}

/// Instants of eight years, most of them within two days of a change of the zone's clock.
fn instants(zone: TimeZone) -> impl Strategy<Value = Timestamp> {
    let start: Timestamp = "2023-01-01T00:00:00Z".parse().expect("an instant");
    let end = start + SignedDuration::from_hours(8 * 366 * 24);
    let changes: Vec<Timestamp> =
        zone.following(start).map(|change| change.timestamp()).take_while(|change| *change < end).collect();
    let changes = if changes.is_empty() { vec![start] } else { changes };
    let day = 86_400_000_i64;
    prop_oneof![
        4 => (select(changes), -2 * day..day).prop_map(|(change, near)| change + SignedDuration::from_millis(near)),
        1 => (0..8 * 366 * day).prop_map(move |later| start + SignedDuration::from_millis(later)),
    ]
}

fn zones_and_instants() -> impl Strategy<Value = (&'static str, Timestamp)> {
    select(&ZONES[..]).prop_flat_map(|name| (Just(name), instants(TimeZone::get(name).expect("it is built in"))))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_next_instants_are_those_that_stepping_through_every_minute_finds(
        parts in parts(), (name, after) in zones_and_instants(),
    ) {
        let timetable = timetable(&parts.written, name);
        let mut expected = after;
        let minutes = std::iter::successors(
            Some(Timestamp::from_second(after.as_second().div_euclid(60) * 60 + 60).expect("within range")),
            |minute| Some(*minute + MINUTE),
        );
        // Eight days hold every weekday and a change of the clock; six firings pass it where they are frequent.
        let firings = minutes.take(8 * 24 * 60).filter(|minute| parts.fires_at(&timetable.zone, *minute)).take(6);
        for firing in firings {
            let next = timetable.next_after(expected).expect("it comes true again");
            prop_assert!(next > expected);
            prop_assert_eq!(next, firing, "after {}", expected);
            expected = firing;
        }
        prop_assert!(expected > after, "it fires within eight days");
    }

    #[test]
    fn the_answer_is_the_same_from_any_instant_before_it(
        parts in parts(), (name, after) in zones_and_instants(), share in 0.0..1.0_f64,
    ) {
        let timetable = timetable(&parts.written, name);
        let next = timetable.next_after(after).expect("it comes true again");
        prop_assert!(next > after);
        #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
        let part = (next.duration_since(after).as_millis() as f64 * share) as i64;
        let between = after + SignedDuration::from_millis(part);
        prop_assert_eq!(timetable.next_after(between).expect("it comes true again"), next, "from {}", between);
    }
}
