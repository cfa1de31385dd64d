//! Words that applications write into cells, in every language of `data/words.csv`.

use std::{collections::HashMap, sync::LazyLock};

use crate::data::{folded, words};

/// What a word means. One word may mean several things: `m` is a metre and a minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Strong, in place of a set's number: a pause.
    RestRow,
    /// Strong, in place of a set's number: a note that belongs to no set.
    NoteRow,
    Kilogram,
    Pound,
    Meter,
    Kilometer,
    Mile,
    Yard,
    Foot,
    Hour,
    Minute,
    Second,
    BeforeNoon,
    AfterNoon,
    Centimeter,
    Inch,
    Yes,
    No,
    /// After a number: so many repetitions.
    Repetition,
    WarmupSet,
    WorkingSet,
    /// Only joins the parts of a date.
    Filler,
}

impl Meaning {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "rest_row" => Self::RestRow,
            "note_row" => Self::NoteRow,
            "kilogram" => Self::Kilogram,
            "pound" => Self::Pound,
            "meter" => Self::Meter,
            "kilometer" => Self::Kilometer,
            "mile" => Self::Mile,
            "yard" => Self::Yard,
            "foot" => Self::Foot,
            "hour" => Self::Hour,
            "minute" => Self::Minute,
            "second" => Self::Second,
            "am" => Self::BeforeNoon,
            "pm" => Self::AfterNoon,
            "centimeter" => Self::Centimeter,
            "inch" => Self::Inch,
            "yes" => Self::Yes,
            "no" => Self::No,
            "repetition" => Self::Repetition,
            "warmup_set" => Self::WarmupSet,
            "working_set" => Self::WorkingSet,
            "filler" => Self::Filler,
            _ => return None,
        })
    }
}

static MEANINGS: LazyLock<HashMap<String, Vec<Meaning>>> = LazyLock::new(|| {
    let mut meanings: HashMap<String, Vec<Meaning>> = HashMap::new();
    for (name, word) in words() {
        meanings.entry(folded(&word)).or_default().extend(Meaning::of(&name));
    }
    meanings
});

/// The first of the wanted meanings that the word has. Case and points at the end do not matter.
pub(crate) fn meaning(word: &str, wanted: &[Meaning]) -> Option<Meaning> {
    let meanings = MEANINGS.get(folded(word.trim().trim_end_matches('.')).as_str())?;
    wanted.iter().copied().find(|meaning| meanings.contains(meaning))
}

/// Whether the word can mean this.
pub(crate) fn means(word: &str, wanted: Meaning) -> bool {
    meaning(word, &[wanted]).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_meaning_of_the_table_is_known() {
        for (name, word) in words() {
            let known = Meaning::of(&name);
            assert!(known.is_some_and(|known| means(&word, known)), "{name}: {word}");
        }
    }

    #[test]
    fn a_word_means_what_is_asked_for() {
        assert_eq!(meaning("M", &[Meaning::Minute, Meaning::Second]), Some(Meaning::Minute));
        assert_eq!(meaning("m", &[Meaning::Kilometer, Meaning::Meter]), Some(Meaning::Meter));
        assert_eq!(meaning("RUHEZEIT", &[Meaning::RestRow]), Some(Meaning::RestRow));
        assert_eq!(meaning("", &[Meaning::RestRow]), None);
    }
}
