//! Names that somebody may have meant.

use strsim::normalized_damerau_levenshtein;

/// More would not be read.
const NAMES_MOST: usize = 5;
/// Of two names that agree in less, one is not the other misspelled.
const LIKENESS_LEAST: f64 = 0.6;

/// Those among `names` that are most like `wanted`, the likest first.
pub(crate) fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = words(wanted);
    let mut scored: Vec<(f64, &str)> = names
        .into_iter()
        .map(|name| (likeness(&wanted, &words(name)), name))
        .filter(|(likeness, _name)| *likeness >= LIKENESS_LEAST)
        .collect();
    scored.sort_by(|(one, one_name), (other, other_name)| other.total_cmp(one).then_with(|| one_name.cmp(other_name)));
    scored.dedup_by_key(|(_likeness, name)| *name);
    scored.into_iter().take(NAMES_MOST).map(|(_likeness, name)| name).collect()
}

/// Case, punctuation and spaces tell no names apart.
fn words(name: &str) -> Vec<String> {
    name.to_lowercase()
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// From 0 to 1: 1 for the same words, less for a part of the name, less again the more letters differ.
fn likeness(wanted: &[String], name: &[String]) -> f64 {
    let (wanted_joined, name_joined) = (wanted.concat(), name.concat());
    if wanted_joined.is_empty() {
        return 0.0;
    }
    let sorted = |words: &[String]| {
        let mut words = words.to_vec();
        words.sort();
        words.concat()
    };
    // "Barbell Bench Press" is "Bench Press (Barbell)".
    let letters = normalized_damerau_levenshtein(&wanted_joined, &name_joined)
        .max(normalized_damerau_levenshtein(&sorted(wanted), &sorted(name)));
    match name_joined.find(&wanted_joined) {
        // The whole name, however its words are put, goes before a part of one, and a beginning before any other part.
        Some(0) if letters < 1.0 => 0.98 + letters / 100.0,
        Some(_) if letters < 1.0 => 0.9 + letters / 100.0,
        _ => letters,
    }
}

#[cfg(test)]
mod tests {
    use super::nearest;

    const NAMES: [&str; 8] = [
        "Bench Press (Barbell)",
        "Incline Bench Press (Dumbbell)",
        "Squat (Barbell)",
        "Deadlift (Barbell)",
        "Lat Pulldown (Cable)",
        "벤치 프레스 (바벨)",
        "스쿼트 (바벨)",
        "Überzüge am Kabel",
    ];

    #[test]
    fn a_misspelled_a_shortened_and_a_reordered_name_are_recognised() {
        for (wanted, name) in [
            ("Bench Pres (Barbell)", "Bench Press (Barbell)"),
            ("bench press barbell", "Bench Press (Barbell)"),
            ("Barbell Squat", "Squat (Barbell)"),
            ("pulldown", "Lat Pulldown (Cable)"),
            ("벤치프레스", "벤치 프레스 (바벨)"),
            ("밴치프레스 바벨", "벤치 프레스 (바벨)"),
            ("ÜBERZÜGE AM KABLE", "Überzüge am Kabel"),
        ] {
            assert_eq!(nearest(wanted, NAMES).first(), Some(&name), "{wanted}");
        }
    }

    #[test]
    fn a_beginning_goes_before_another_part_and_the_shorter_name_before_the_longer() {
        let names = ["Bulgarian Split Squat", "Squat (Smith Machine)", "Squat (Barbell)"];
        assert_eq!(nearest("squat", names), ["Squat (Barbell)", "Squat (Smith Machine)", "Bulgarian Split Squat"]);
    }

    #[test]
    fn a_part_of_several_names_finds_each_and_another_word_none() {
        assert_eq!(nearest("bench press", NAMES), ["Bench Press (Barbell)", "Incline Bench Press (Dumbbell)"]);
        for wanted in ["Yoga", "", "()", "달리기"] {
            assert_eq!(nearest(wanted, NAMES), Vec::<&str>::new(), "{wanted}");
        }
    }
}
