//! Cron expressions of five fields, checked field by field so that a refusal can say which one is wrong.

use std::fmt;

use croner::Cron;
use croner::errors::CronError;
use croner::parser::{CronParser, Seconds, Year};
use jiff::civil::{DateTime, date};

/// Longest expression that is looked at, in characters; the table's constraint says the same.
const CHARACTERS_MAX: usize = 200;

/// From when on a day is looked for that fits the day fields. Any instant does: the calendar repeats every 400 years, and the
/// library looks until the year 5000.
const SOME_MIDNIGHT: DateTime = date(2000, 1, 1).at(0, 0, 0, 0);

/// Why an expression or a zone is of no use. Says which field is wrong and what it may hold, never what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unusable {
    /// Longer than 200 characters.
    TooLong,
    /// Not five fields.
    FieldCount {
        /// How many there are.
        found: usize,
    },
    /// A field with something in it that has no meaning there.
    Field(Field),
    /// Well written, but the days it names never come, such as 30 February.
    Never,
    /// Not the name of a time zone.
    TimeZone,
}

impl fmt::Display for Unusable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(formatter, "cron_expression: longer than {CHARACTERS_MAX} characters"),
            Self::FieldCount { found } => write!(
                formatter,
                "cron_expression: five fields are needed (minute, hour, day of month, month, day of week), found {found}"
            ),
            Self::Field(field) => write!(formatter, "{}: not understood; {}", field.name(), field.may_hold()),
            Self::Never => formatter.write_str("day of month, month, day of week: no such day ever comes"),
            Self::TimeZone => {
                formatter.write_str("time_zone: unknown; write an IANA name such as Europe/Berlin or UTC")
            }
        }
    }
}

/// The fields of an expression, in the order in which they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// 0 to 59.
    Minute,
    /// 0 to 23.
    Hour,
    /// 1 to 31.
    DayOfMonth,
    /// 1 to 12, or JAN to DEC.
    Month,
    /// 0 to 7, both of which are Sunday, or SUN to SAT.
    DayOfWeek,
}

impl Field {
    const ALL: [Self; 5] = [Self::Minute, Self::Hour, Self::DayOfMonth, Self::Month, Self::DayOfWeek];

    fn name(self) -> &'static str {
        match self {
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::DayOfMonth => "day of month",
            Self::Month => "month",
            Self::DayOfWeek => "day of week",
        }
    }

    fn may_hold(self) -> &'static str {
        match self {
            Self::Minute => "it may hold 0-59, *, ranges as 5-10, steps as */15, and lists with commas",
            Self::Hour => "it may hold 0-23, *, ranges as 8-18, steps as */6, and lists with commas",
            Self::DayOfMonth => {
                "it may hold 1-31, *, ranges, steps, lists with commas, L for the last day, 15W for a weekday near it"
            }
            Self::Month => "it may hold 1-12 or JAN-DEC, *, ranges, steps, and lists with commas",
            Self::DayOfWeek => {
                "it may hold 0-7 or SUN-SAT, *, ranges, steps, lists with commas, 5#2 for the second Friday, 5#L for the last"
            }
        }
    }

    /// Words that mean something in this field. The library replaces names anywhere, so that MAR would pass as the third minute.
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Minute | Self::Hour => &[],
            Self::DayOfMonth => &["L", "W", "LW"],
            Self::Month => &["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"],
            Self::DayOfWeek => &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT", "L"],
        }
    }

    /// The largest step that does something: in minutes `*/90` would be every hour and not every ninety minutes.
    fn step_max(self) -> u16 {
        match self {
            Self::Minute => 59,
            Self::Hour => 23,
            Self::DayOfMonth => 31,
            Self::Month => 12,
            Self::DayOfWeek => 7,
        }
    }

    /// Whether `text` has a meaning in this field, all other fields being stars.
    fn understands(self, text: &str) -> bool {
        self.knows_words_of(text)
            && text.split(',').all(|piece| self.understands_piece(piece))
            && parse(&Self::ALL.map(|field| if field == self { text } else { "*" }).join(" ")).is_ok()
    }

    fn knows_words_of(self, text: &str) -> bool {
        let upper = text.to_ascii_uppercase();
        let mut words = upper.split(|character: char| !character.is_alphabetic()).filter(|word| !word.is_empty());
        words.all(|word| self.words().contains(&word))
    }

    /// The library passes over an empty piece of a list, and takes a step for what it leaves.
    fn understands_piece(self, piece: &str) -> bool {
        let step = piece.split_once('/').map(|(_values, step)| step);
        !piece.is_empty()
            && step.is_none_or(|step| step.parse().is_ok_and(|step: u16| (1..=self.step_max()).contains(&step)))
    }
}

/// A usable expression: every field is understood, and it comes true again and again.
#[derive(Debug, Clone)]
pub(super) struct Expression {
    cron: Cron,
    /// Whether it goes by the clock on the wall rather than by the calendar, as every ten minutes or every hour do.
    pub(super) by_the_clock: bool,
}

impl Expression {
    /// # Errors
    /// Which field is not understood, or that no day fits.
    pub(super) fn parse(text: &str) -> Result<Self, Unusable> {
        if text.chars().nth(CHARACTERS_MAX).is_some() {
            return Err(Unusable::TooLong);
        }
        let fields: Vec<&str> = text.split_ascii_whitespace().collect();
        let [minute, hour, ..] = fields[..] else { return Err(Unusable::FieldCount { found: fields.len() }) };
        if fields.len() != Field::ALL.len() {
            return Err(Unusable::FieldCount { found: fields.len() });
        }
        let wrong = Field::ALL.into_iter().zip(&fields).find(|(field, text)| !field.understands(text));
        if let Some((field, _text)) = wrong {
            return Err(Unusable::Field(field));
        }
        let cron = parse(&fields.join(" ")).map_err(|_whole| Unusable::Never)?;
        let every_hour = cron.pattern.hours.values().len() == 24;
        let by_the_clock = every_hour || minute.contains('*') || hour.contains('*');
        let expression = Self { cron, by_the_clock };
        expression.next_local(SOME_MIDNIGHT, true)?;
        Ok(expression)
    }

    /// The first local time after `local` that fits, or from `local` on.
    ///
    /// # Errors
    /// [`Unusable::Never`] where there is none before the year 5000.
    pub(super) fn next_local(&self, local: DateTime, inclusive: bool) -> Result<DateTime, Unusable> {
        self.cron.find_next_occurrence(&local, inclusive).map_err(|_none| Unusable::Never)
    }
}

fn parse(text: &str) -> Result<Cron, CronError> {
    CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build().parse(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        match Expression::parse(text) {
            Ok(_usable) => panic!("{text:?} was accepted"),
            Err(unusable) => unusable.to_string(),
        }
    }

    fn next(text: &str) -> String {
        let expression = Expression::parse(text).unwrap_or_else(|unusable| panic!("{text:?}: {unusable}"));
        expression.next_local(date(2026, 1, 1).at(0, 0, 0, 0), false).expect("it comes true again").to_string()
    }

    #[test]
    fn a_refusal_names_the_field_that_is_wrong() {
        let wrong = [
            ("minute", ["99 * * * *", "5-1 * * * *", "*/0 * * * *", "*/90 * * * *", "5/10 * * * *", "MAR * * * *"]),
            ("minute", ["0\0 * * * *", "-1 * * * *", "1-2-3 * * * *", "** * * * *", "1,,2 * * * *", ", * * * *"]),
            ("hour", ["0 24 * * *", "0 L * * *", "0 */24 * * *", "0 1.5 * * *", "0 ٣ * * *", "0 @daily * * *"]),
            ("day of month", ["0 0 0 * *", "0 0 32 * *", "0 0 W * *", "0 0 MON * *", "0 0 1/2 * *", "0 0 +1 * *"]),
            ("month", ["0 0 * 13 *", "0 0 * FOO *", "0 0 * L *", "0 0 * MON *", "0 0 * JANUARY *", "0 0 * 0 *"]),
            ("day of week", ["0 0 * * 8", "0 0 * * 5#6", "0 0 * * MONDAY", "0 0 * * *#2", "0 0 * * ++1", "0 0 * * '"]),
        ];
        for (field, expressions) in wrong {
            for expression in expressions {
                let refusal = refused(expression);
                assert!(
                    refusal.starts_with(&format!("{field}: not understood; it may hold ")),
                    "{expression}: {refusal}"
                );
            }
        }
    }

    #[test]
    fn a_refusal_counts_the_fields_when_there_are_not_five() {
        for (expression, found) in [("", 0), (" \t\n", 0), ("@daily", 1), ("* * * *", 4), ("* * * * * * *", 7)] {
            let refusal = refused(expression);
            assert!(refusal.ends_with(&format!("found {found}")), "{expression}: {refusal}");
        }
    }

    #[test]
    fn what_never_comes_true_is_refused() {
        let never = ["0 0 30 2 *", "* * 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 30-31 2 +MON", "0 0 31W 2 *", "0 0 * * L"];
        for expression in never {
            assert_eq!(refused(expression), Unusable::Never.to_string(), "{expression}");
        }
    }

    #[test]
    fn an_expression_of_ten_kilobytes_is_refused_unread() {
        assert_eq!(refused(&"0,".repeat(5_000)), Unusable::TooLong.to_string());
        assert_eq!(refused(&format!("0 0 * * *{}", " ".repeat(192))), Unusable::TooLong.to_string());
        assert_eq!(next(&format!("0 0 * * *{}", " ".repeat(191))), "2026-01-02T00:00:00");
    }

    #[test]
    fn a_refusal_repeats_nothing_of_what_was_written() {
        for expression in ["secret * * * *", "0 0 * SECRET *", "secret", "0 0 * * secret"] {
            assert!(!refused(expression).to_ascii_lowercase().contains("secret"), "{expression}");
        }
    }

    #[test]
    fn fields_mean_what_cron_says_they_mean() {
        for (expression, expected) in [
            ("5 2 * * *", "2026-01-01T02:05:00"),
            ("  5\t2 * * *\n", "2026-01-01T02:05:00"),
            ("*/15 8-18 * * mon-fri", "2026-01-01T08:00:00"),
            ("0 0 1-7/3 feb *", "2026-02-01T00:00:00"),
            ("0 0 29 2 *", "2028-02-29T00:00:00"),
            ("0 0 L * *", "2026-01-31T00:00:00"),
            ("0 0 LW 2 *", "2026-02-27T00:00:00"),
            ("0 0 * * 7", "2026-01-04T00:00:00"),
            ("0 0 * * 5#2", "2026-01-09T00:00:00"),
            ("0 0 * 2 5#5", "2036-02-29T00:00:00"),
            ("0 0 ? * 5L", "2026-01-30T00:00:00"),
            ("0 0 13 * +FRI", "2026-02-13T00:00:00"),
            // With both days given, either is enough.
            ("0 0 30 2 MON", "2026-02-02T00:00:00"),
        ] {
            assert_eq!(next(expression), expected, "{expression}");
        }
    }

    #[test]
    fn an_expression_goes_by_the_clock_when_its_minutes_or_hours_are_a_wildcard_or_every_hour() {
        let by_the_clock = |text: &str| Expression::parse(text).expect("it is usable").by_the_clock;
        for expression in ["*/10 * * * *", "0 * * * *", "*/10 2 * * *", "0 */6 * * *", "30 0-23 * * *"] {
            assert!(by_the_clock(expression), "{expression}");
        }
        for expression in ["5 2 * * *", "0,30 2 * * *", "0 0,12 * * *", "30 1-3 * * *", "0 9 */2 * *"] {
            assert!(!by_the_clock(expression), "{expression}");
        }
    }
}
