//! Quotes that do not pair.
//!
//! The csv crate reads any bytes: a quote that is never closed swallows the rest of the file, and text after a closing
//! quote is joined to the cell. Both make rows disappear, so the text is checked once before it is read.

use crate::{CELL_BYTES_MAX, ImportError, text::Lines};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    CellStart,
    Plain,
    Quoted,
    /// After a quote inside a quoted cell: the cell ended, or the quote is the first half of a doubled one.
    QuoteInQuoted,
}

/// Checks that every quoted cell is closed, that nothing follows its closing quote, and that no cell is absurdly long.
pub(crate) fn check(text: &str, delimiter: u8) -> Result<(), ImportError> {
    let bytes = text.as_bytes();
    let line_at = |offset| Lines::default().line_at(bytes, offset);
    let (mut state, mut start) = (State::CellStart, 0);
    for (offset, &byte) in bytes.iter().enumerate() {
        let ends_cell = byte == delimiter || byte == b'\n' || byte == b'\r';
        state = match state {
            State::Quoted if byte == b'"' => State::QuoteInQuoted,
            State::Quoted => State::Quoted,
            State::QuoteInQuoted if byte == b'"' => State::Quoted,
            State::QuoteInQuoted if !ends_cell => return Err(ImportError::StrayQuote { line: line_at(offset) }),
            State::CellStart if byte == b'"' => State::Quoted,
            _ if ends_cell => State::CellStart,
            _ => State::Plain,
        };
        if state == State::CellStart {
            start = offset + 1;
        } else if offset - start >= CELL_BYTES_MAX {
            return Err(ImportError::CellTooLong { line: line_at(start) });
        }
    }
    match state {
        State::Quoted => Err(ImportError::UnclosedQuote { line: line_at(start) }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_that_pair_are_accepted() {
        for text in ["", "a,b", "\"a\",b\n", "\"a \"\"b\"\"\",c", "\"two\nlines\"\r\n", "5\" deficit,b", "\"\""] {
            assert_eq!(check(text, b','), Ok(()), "{text}");
        }
    }

    #[test]
    fn a_quote_that_is_never_closed_names_the_line_where_it_opened() {
        assert_eq!(check("a,b\n\"c,d\ne", b','), Err(ImportError::UnclosedQuote { line: 2 }));
    }

    #[test]
    fn text_after_a_closing_quote_is_refused() {
        assert_eq!(check("a\n\"b\"c,d", b','), Err(ImportError::StrayQuote { line: 2 }));
        assert_eq!(check("\"b\",c", b';'), Err(ImportError::StrayQuote { line: 1 }));
    }

    #[test]
    fn a_cell_longer_than_the_limit_is_refused() {
        let longest = "x".repeat(CELL_BYTES_MAX);
        assert_eq!(check(&longest, b','), Ok(()));
        assert_eq!(check(&format!("a,\n{longest}x"), b','), Err(ImportError::CellTooLong { line: 2 }));
    }
}
