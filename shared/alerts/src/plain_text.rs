//! Foreign text on somebody's screen: nothing that moves, hides or reorders what stands around it.

/// Stands for a character that must not be shown.
const REPLACEMENT: char = '\u{fffd}';
/// Ends a text of which more was there.
const ELLIPSIS: char = '…';

/// `text` as one line of at most `characters_max` characters, ending in `…` where more was there. Whitespace becomes a
/// space; control characters and invisible ones become `U+FFFD`.
pub(crate) fn one_line(text: &str, characters_max: usize) -> String {
    cut(text, characters_max).chars().map(shown).collect()
}

/// `text` as it is, cut to at most `characters_max` characters, with `…` as the last where more was there.
pub(crate) fn cut(text: &str, characters_max: usize) -> String {
    match text.char_indices().nth(characters_max) {
        None => text.to_owned(),
        Some(_) => text.chars().take(characters_max.saturating_sub(1)).chain([ELLIPSIS]).collect(),
    }
}

fn shown(character: char) -> char {
    match character {
        whitespace if whitespace.is_whitespace() => ' ',
        control if control.is_control() => REPLACEMENT,
        invisible if is_invisible(invisible) => REPLACEMENT,
        visible => visible,
    }
}

/// Characters that show nothing and change what is shown around them: directions, tags, joiners of words. The joiners
/// inside emoji and inside words (U+200C, U+200D) stay: they change only what stands beside them.
fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters_and_says_so() {
        assert_eq!(cut("naïve", 5), "naïve");
        assert_eq!(cut("naïve!", 5), "naïv…");
        assert_eq!(cut("🏋🏋🏋", 2), "🏋…");
        assert_eq!(cut("", 0), "");
    }

    #[test]
    fn nothing_that_moves_the_text_around_it_is_left() {
        assert_eq!(one_line("a\r\nb\tc\u{2028}d", 50), "a  b c d");
        assert_eq!(one_line("a\0\u{1b}[31mb\u{7f}\u{9b}", 50), "a\u{fffd}\u{fffd}[31mb\u{fffd}\u{fffd}");
        assert_eq!(one_line("a\u{202e}b\u{2066}c\u{200b}d\u{feff}", 50), "a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}");
        assert_eq!(one_line("\u{e0041}\u{e007f}", 50), "\u{fffd}\u{fffd}");
    }

    #[test]
    fn words_of_every_script_and_emoji_stay() {
        for text in ["סקוואט", "스쿼트", "می\u{200c}خواهم", "👩\u{200d}🚀"] {
            assert_eq!(one_line(text, 50), text);
        }
    }
}
