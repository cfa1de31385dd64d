//! Texts of failures, as they can be stored.

/// Longest text that is stored, in characters.
pub const ERROR_CHARACTERS: usize = 2_000;

/// The text of a failure as it can be stored: valid UTF-8, each NUL and each invalid byte replaced, cut at a character boundary at
/// [`ERROR_CHARACTERS`]. A failure whose text the database refused would never be charged and would be repeated for ever.
#[must_use]
pub fn error_text(text: impl AsRef<[u8]>) -> String {
    let bytes = text.as_ref();
    // No character is longer than four bytes, so that decoding need not go on for a text without end.
    let bytes = &bytes[..bytes.len().min(ERROR_CHARACTERS * 4)];
    String::from_utf8_lossy(bytes)
        .chars()
        .take(ERROR_CHARACTERS)
        .map(|character| if character == '\0' { char::REPLACEMENT_CHARACTER } else { character })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        assert_eq!(error_text(b"\xf1a"), "\u{fffd}a");
        assert_eq!(error_text("a\0b"), "a\u{fffd}b");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(error_text("é".repeat(2_001)), "é".repeat(2_000));
        assert_eq!(error_text("🌊".repeat(5_000)), "🌊".repeat(2_000));
        assert_eq!(error_text("x".repeat(2_000)), "x".repeat(2_000));
        assert_eq!(error_text(vec![0xff; 100_000]).chars().count(), 2_000);
    }
}
