//! Words that applications write into cells, by language. To add a language is to add a word.

/// Strong, column Set Order: a pause between sets. English, German.
pub(crate) const REST_ROWS: &[&str] = &["Rest Timer", "Ruhezeit"];

/// Strong, column Set Order: a note that belongs to no set. English, German.
pub(crate) const NOTE_ROWS: &[&str] = &["Note", "Notiz"];

/// Whether the cell is one of the words, in any case.
pub(crate) fn is_one_of(cell: &str, words: &[&str]) -> bool {
    words.iter().any(|word| word.eq_ignore_ascii_case(cell))
}
