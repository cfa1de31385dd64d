//! Names of the months, by language. To add a language is to add a table.
//!
//! The forms are those of the Unicode CLDR: short and full, as they stand inside a date. Case and a point at the end do
//! not matter. A test holds that no word names two different months.

use std::{collections::HashMap, sync::LazyLock};

type Months = [&'static [&'static str]; 12];

const ENGLISH: Months = [
    &["jan", "january"],
    &["feb", "february"],
    &["mar", "march"],
    &["apr", "april"],
    &["may"],
    &["jun", "june"],
    &["jul", "july"],
    &["aug", "august"],
    &["sep", "sept", "september"],
    &["oct", "october"],
    &["nov", "november"],
    &["dec", "december"],
];

const GERMAN: Months = [
    &["jan", "januar", "jän", "jänner"],
    &["feb", "februar"],
    &["mär", "märz", "mrz"],
    &["apr", "april"],
    &["mai"],
    &["jun", "juni"],
    &["jul", "juli"],
    &["aug", "august"],
    &["sep", "sept", "september"],
    &["okt", "oktober"],
    &["nov", "november"],
    &["dez", "dezember"],
];

const FRENCH: Months = [
    &["janv", "janvier"],
    &["févr", "fév", "février"],
    &["mars"],
    &["avr", "avril"],
    &["mai"],
    &["juin"],
    &["juil", "juillet"],
    &["août"],
    &["sept", "septembre"],
    &["oct", "octobre"],
    &["nov", "novembre"],
    &["déc", "décembre"],
];

const SPANISH: Months = [
    &["ene", "enero"],
    &["feb", "febrero"],
    &["mar", "marzo"],
    &["abr", "abril"],
    &["may", "mayo"],
    &["jun", "junio"],
    &["jul", "julio"],
    &["ago", "agosto"],
    &["sep", "sept", "septiembre", "setiembre"],
    &["oct", "octubre"],
    &["nov", "noviembre"],
    &["dic", "diciembre"],
];

const ITALIAN: Months = [
    &["gen", "gennaio"],
    &["feb", "febbraio"],
    &["mar", "marzo"],
    &["apr", "aprile"],
    &["mag", "maggio"],
    &["giu", "giugno"],
    &["lug", "luglio"],
    &["ago", "agosto"],
    &["set", "settembre"],
    &["ott", "ottobre"],
    &["nov", "novembre"],
    &["dic", "dicembre"],
];

const PORTUGUESE: Months = [
    &["jan", "janeiro"],
    &["fev", "fevereiro"],
    &["mar", "março"],
    &["abr", "abril"],
    &["mai", "maio"],
    &["jun", "junho"],
    &["jul", "julho"],
    &["ago", "agosto"],
    &["set", "setembro"],
    &["out", "outubro"],
    &["nov", "novembro"],
    &["dez", "dezembro"],
];

const TURKISH: Months = [
    &["oca", "ocak"],
    &["şub", "şubat"],
    &["mar", "mart"],
    &["nis", "nisan"],
    &["may", "mayıs"],
    &["haz", "haziran"],
    &["tem", "temmuz"],
    &["ağu", "ağustos"],
    &["eyl", "eylül"],
    &["eki", "ekim"],
    &["kas", "kasım"],
    &["ara", "aralık"],
];

const KOREAN: Months = [
    &["1월"],
    &["2월"],
    &["3월"],
    &["4월"],
    &["5월"],
    &["6월"],
    &["7월"],
    &["8월"],
    &["9월"],
    &["10월"],
    &["11월"],
    &["12월"],
];

const JAPANESE: Months = [
    &["1月"],
    &["2月"],
    &["3月"],
    &["4月"],
    &["5月"],
    &["6月"],
    &["7月"],
    &["8月"],
    &["9月"],
    &["10月"],
    &["11月"],
    &["12月"],
];

const LANGUAGES: &[Months] = &[ENGLISH, GERMAN, FRENCH, SPANISH, ITALIAN, PORTUGUESE, TURKISH, KOREAN, JAPANESE];

/// Words between day, month and year that say nothing: Spanish and Portuguese.
const FILLERS: &[&str] = &["de"];

/// Every name with its month; a table of a few hundred words is asked twice per row.
static NUMBERS: LazyLock<HashMap<&'static str, i8>> = LazyLock::new(|| {
    LANGUAGES
        .iter()
        .flat_map(|months| (1_i8..).zip(months))
        .flat_map(|(number, names)| names.iter().map(move |&name| (name, number)))
        .collect()
});

/// The month, 1 to 12, that a word names in any language of the table.
pub(crate) fn number_of(word: &str) -> Option<i8> {
    NUMBERS.get(word.to_lowercase().as_str()).copied()
}

/// Whether the word only joins the parts of a date.
pub(crate) fn is_filler(word: &str) -> bool {
    FILLERS.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_names_two_months_and_every_word_is_found() {
        for months in LANGUAGES {
            for (number, names) in (1_i8..).zip(months) {
                assert!(!names.is_empty());
                for name in *names {
                    assert_eq!(number_of(name), Some(number), "{name}");
                }
            }
        }
    }
}
