//! The committed tables of what applications write. See `data/README.md`.

use crate::{
    Format,
    column::{Column, Stated},
};

const HEADERS: &str = include_str!("../data/headers.csv");
const MONTHS: &str = include_str!("../data/months.csv");
const WORDS: &str = include_str!("../data/words.csv");

/// A line of `headers.csv`.
#[derive(Debug, Clone)]
pub(crate) struct HeaderName {
    pub(crate) format: Format,
    pub(crate) column: Column,
    pub(crate) stated: Stated,
    pub(crate) name: String,
}

/// Every line of `headers.csv`. A test holds that none is left out.
pub(crate) fn header_names() -> impl Iterator<Item = HeaderName> {
    lines(HEADERS).into_iter().filter_map(|[format, column, unit, _language, _origin, name]| {
        let (format, column, stated) = (Format::of(&format)?, Column::of(&column)?, Stated::of(&unit)?);
        Some(HeaderName { format, column, stated, name })
    })
}

/// Number and name of every month, in every language.
pub(crate) fn month_names() -> impl Iterator<Item = (i8, String)> {
    lines(MONTHS).into_iter().filter_map(|[_language, number, name]| Some((number.parse().ok()?, name)))
}

/// Meaning and spelling of every word, in every language.
pub(crate) fn words() -> impl Iterator<Item = (String, String)> {
    lines(WORDS).into_iter().map(|[meaning, _language, word]| (meaning, word))
}

/// A text as it is compared: in lower case, with one space between words, one kind of apostrophe, and without what Turkish
/// upper case leaves behind, a dot above the i or none.
pub(crate) fn folded(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.extend(word.chars().flat_map(char::to_lowercase).filter_map(|character| match character {
            '\u{307}' => None,
            'ı' => Some('i'),
            '’' => Some('\''),
            other => Some(other),
        }));
    }
    folded
}

fn lines<const CELLS: usize>(table: &str) -> Vec<[String; CELLS]> {
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    // The tables are part of the build; a test holds that every line has its cells.
    let cells = |record: csv::StringRecord| record.iter().map(str::to_owned).collect::<Vec<_>>().try_into().ok();
    reader.records().filter_map(|record| cells(record.ok()?)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn data_lines(table: &str) -> usize {
        table.lines().count() - 1
    }

    #[test]
    fn no_line_of_a_table_is_left_out() {
        assert_eq!(header_names().count(), data_lines(HEADERS));
        assert_eq!(month_names().count(), data_lines(MONTHS));
        assert_eq!(words().count(), data_lines(WORDS));
        assert!(month_names().all(|(number, _name)| (1..=12).contains(&number)));
    }

    #[test]
    fn no_name_means_two_columns_of_one_format_and_no_word_two_months() {
        let mut columns = HashMap::new();
        for HeaderName { format, column, stated, name } in header_names() {
            let meaning = (column, stated);
            assert_eq!(*columns.entry((format, folded(&name))).or_insert(meaning), meaning, "{format}: {name}");
        }
        let mut months = HashMap::new();
        for (number, name) in month_names() {
            assert_eq!(*months.entry(folded(&name)).or_insert(number), number, "{name}");
        }
    }

    #[test]
    fn a_name_is_compared_without_case_spacing_and_turkish_dots() {
        assert_eq!(folded("  Top\u{a0}Set  (REPS) "), "top set (reps)");
        assert_eq!(folded("NİSAN Kasım"), "nisan kasim");
        assert_eq!(folded("Nom de l’exercice"), "nom de l'exercice");
    }
}
