//! Names of the months in every language of `data/months.csv`: short and full, as they stand inside a date.

use std::{collections::HashMap, sync::LazyLock};

use crate::data::{folded, month_names};

/// Every name with its month; a table of a few hundred words is asked twice per row.
static NUMBERS: LazyLock<HashMap<String, i8>> =
    LazyLock::new(|| month_names().map(|(number, name)| (folded(&name), number)).collect());

/// The month, 1 to 12, that a word names in any language of the table.
pub(crate) fn number_of(word: &str) -> Option<i8> {
    NUMBERS.get(folded(word).as_str()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_the_table_is_found_in_any_case() {
        for (number, name) in month_names() {
            for name in [name.to_lowercase(), name.to_uppercase()] {
                assert_eq!(number_of(&name), Some(number), "{name}");
            }
        }
    }
}
