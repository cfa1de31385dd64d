//! Figures as people read them.

use jiff::civil::Date;

/// Kilograms to one decimal, with the thousands set apart and the unit.
pub(super) fn mass(kilograms: f64) -> String {
    format!("{} kg", tenths(kilograms))
}

/// A figure to one decimal, where it has one, with the thousands set apart.
pub(super) fn tenths(figure: f64) -> String {
    let rounded = format!("{figure:.1}");
    let (whole, tenths) = rounded.split_once('.').unwrap_or((&rounded, "0"));
    let whole = apart(if rounded == "-0.0" { "0" } else { whole });
    if tenths == "0" { whole } else { format!("{whole}.{tenths}") }
}

/// A count with the thousands set apart.
pub(super) fn grouped(number: i64) -> String {
    apart(&number.to_string())
}

/// A load with the repetitions that were done with it.
pub(super) fn lifted(kilograms: Option<f64>, reps: Option<i64>) -> Option<String> {
    let kilograms = mass(kilograms?);
    Some(reps.map_or(kilograms.clone(), |reps| format!("{kilograms} × {}", grouped(reps))))
}

/// A figure of the day it was reached on.
pub(super) fn on(figure: Option<String>, day: Option<Date>) -> String {
    match (figure, day) {
        (Some(figure), Some(day)) => format!("{figure} on {day}"),
        (Some(figure), None) => figure,
        (None, _) => none(),
    }
}

pub(super) fn date(on: Option<Date>) -> String {
    on.map_or_else(none, |on| on.to_string())
}

pub(super) fn weeks(number: i64) -> String {
    if number == 1 { "1 week".to_owned() } else { format!("{} weeks", grouped(number)) }
}

pub(super) fn none() -> String {
    "none".to_owned()
}

/// Sets groups of three digits apart.
fn apart(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let mut text = sign.to_owned();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masses_are_rounded_to_one_decimal_and_thousands_set_apart() {
        assert_eq!(mass(1_234_567.26), "1,234,567.3 kg");
        assert_eq!(mass(100.0), "100 kg");
        assert_eq!(mass(-1_000.04), "-1,000 kg");
        assert_eq!(tenths(-0.01), "0");
        assert_eq!(tenths(12.5), "12.5");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
    }
}
