use tidemark_stats::{InvalidWeight, Kilograms, TypedWeight, Unit, nearest_step};

use crate::log::{Log, decimal, kilograms, weight};

#[test]
fn c12_pounds_and_kilograms_are_compared_in_one_unit() {
    let shown = ["50 lb", "50 kg", "110 lb"].map(|text| weight(text).to_kilograms().to_unit_rounded(Unit::Kilogram, 3));
    assert_eq!(shown, ["22.680", "50.000", "49.895"].map(decimal));
    let stats = Log::lifting().day("2025-01-01", &[("50 lb", 1), ("50 kg", 1), ("110 lb", 1)]).stats();
    assert_eq!((kilograms(stats.heaviest_kg), stats.heaviest_position), (Some("50".to_owned()), Some(1)));
}

#[test]
fn c13_the_best_set_volume_is_found_across_units() {
    let stats = Log::lifting().day("2025-01-01", &[("100 kg", 5), ("200 lb", 6)]).stats();
    assert_eq!(kilograms(stats.best_set_volume_kg), Some("544.310844".to_owned()));
    assert_eq!(stats.best_set_volume_kg.unwrap().to_unit_rounded(Unit::Kilogram, 3), decimal("544.311"));
    assert_eq!(stats.best_set_position, Some(1));
}

#[test]
fn c15_and_c16_a_weight_typed_in_pounds_is_converted_exactly_and_shown_as_typed() {
    for (typed, stored) in [("135 lb", "61.235"), ("233 lb", "105.687")] {
        let weight = weight(typed);
        assert_eq!(weight.to_kilograms().to_unit_rounded(Unit::Kilogram, 3), decimal(stored));
        assert_eq!(format!("{} {}", weight.value(), weight.unit()), typed);
        assert_eq!(weight.to_kilograms().to_unit_rounded(Unit::Pound, 6), weight.value());
    }
    assert_eq!(weight("61.24 kg").to_kilograms().to_unit_rounded(Unit::Pound, 1), decimal("135.0"));
}

#[test]
fn c48_sums_of_decimals_have_no_binary_remainder() {
    let sum: Kilograms = ["1698.2 kg", "1322 kg", "661.2 kg"].iter().map(|text| weight(text).to_kilograms()).sum();
    assert_eq!(sum.to_string(), "3681.4");
}

#[test]
fn c49_a_weight_stored_by_a_rounded_factor_is_shown_rounded() {
    let mass = weight("6.803893642 kg").to_kilograms();
    assert_eq!(mass.to_unit_rounded(Unit::Pound, 1), decimal("15.0"));
    assert_eq!(mass.to_unit_rounded(Unit::Pound, 6), decimal("15.000018"));
}

#[test]
fn c40_plates_are_rounded_to_the_nearest_step() {
    let near = |value, step| nearest_step(decimal(value), decimal(step));
    assert_eq!(near("280.25", "2.5"), Some(decimal("280")));
    assert_eq!(near("281.26", "2.5"), Some(decimal("282.5")));
    assert_eq!(near("281.25", "2.5"), Some(decimal("280")), "of two equally near, the even multiple");
    assert_eq!(near("280", "0"), None);
    assert_eq!(near("280", "-2.5"), None);
}

#[test]
fn rounding_for_display_is_half_to_even_on_both_sides_of_zero() {
    let rounded = |text, decimals| weight(text).to_kilograms().to_unit_rounded(Unit::Kilogram, decimals);
    for (text, whole) in [("0.5 kg", "0"), ("1.5 kg", "2"), ("2.5 kg", "2"), ("-0.5 kg", "0"), ("-1.5 kg", "-2")] {
        assert_eq!(rounded(text, 0), decimal(whole), "{text}");
    }
    for (text, tenths) in [("0.25 kg", "0.2"), ("1.35 kg", "1.4"), ("1.45 kg", "1.4"), ("-1.45 kg", "-1.4")] {
        assert_eq!(rounded(text, 1), decimal(tenths), "{text}");
    }
}

#[test]
fn the_smallest_typed_pound_is_held_exactly() {
    assert_eq!(weight("0.000000001 lb").to_kilograms().to_string(), "0.00000000045359237");
    assert_eq!(weight("-0.000000001 lb").to_kilograms().to_string(), "-0.00000000045359237");
}

#[test]
fn a_weight_that_cannot_be_held_exactly_is_refused() {
    let typed = |text| TypedWeight::new(decimal(text), Unit::Pound).map(|weight| weight.value());
    assert_eq!(typed("0.0000000001"), Err(InvalidWeight::TooManyDecimals));
    assert_eq!(typed("1000000"), Err(InvalidWeight::TooLarge));
    assert_eq!(typed("-1000000"), Err(InvalidWeight::TooLarge));
    assert_eq!(typed("999999.999999999"), Ok(decimal("999999.999999999")));
    assert_eq!(typed("75.0000000000000"), Ok(decimal("75")), "trailing zeros are no decimals");
}

#[test]
fn a_typed_weight_survives_serialisation() {
    let json = serde_json::to_string(&weight("22.5 lb")).unwrap();
    assert_eq!(json, r#"{"value":"22.5","unit":"lb"}"#);
    assert_eq!(serde_json::from_str::<TypedWeight>(&json).unwrap(), weight("22.5 lb"));
    assert!(serde_json::from_str::<TypedWeight>(r#"{"value":"1000000","unit":"lb"}"#).is_err());
}

#[test]
fn names_are_read_back_as_written() {
    use tidemark_stats::{Formula, LoadKind, SetKind};
    assert_eq!(
        ["warmup", "normal", "failure", "drop"].map(|name| name.parse::<SetKind>().unwrap().as_str()),
        ["warmup", "normal", "failure", "drop"]
    );
    assert_eq!("assisted".parse(), Ok(LoadKind::Assisted));
    assert_eq!("epley".parse(), Ok(Formula::Epley));
    assert_eq!("stone".parse::<Unit>().unwrap_err().to_string(), "unknown name, expected kg or lb");
    assert_eq!(serde_json::to_string(&SetKind::Warmup).unwrap(), r#""warmup""#);
}
