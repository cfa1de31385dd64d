//! Bytes to text: what must hold before anything is read as CSV.

use crate::ImportError;

/// Largest accepted file, in bytes. A Hevy row takes about 115 bytes, so this is room for half a million sets.
pub const FILE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Longest accepted cell, in bytes. The longest real ones are notes of a few thousand characters.
pub const CELL_BYTES_MAX: usize = 64 * 1024;

/// The text of the file without its byte order mark.
pub(crate) fn decode(bytes: &[u8]) -> Result<&str, ImportError> {
    if bytes.len() > FILE_BYTES_MAX {
        return Err(ImportError::TooLarge { bytes: bytes.len() });
    }
    // UTF-16 is told as an encoding error, before its many NUL bytes are found.
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(ImportError::Encoding { line: 1 });
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if let Some(at) = bytes.iter().position(|&byte| byte == 0) {
        return Err(ImportError::NulByte { line: Lines::default().line_at(bytes, at) });
    }
    std::str::from_utf8(bytes)
        .map_err(|error| ImportError::Encoding { line: Lines::default().line_at(bytes, error.valid_up_to()) })
}

/// Counts physical lines while going forward through a text once.
///
/// A line ends with LF, CR LF or a lone CR. The csv crate counts LF only and gives the position before the line ends that
/// precede a record, so that a file with CR LF would be off by one.
#[derive(Debug)]
pub(crate) struct Lines {
    offset: usize,
    line: u64,
}

impl Default for Lines {
    fn default() -> Self {
        Self { offset: 0, line: 1 }
    }
}

impl Lines {
    /// The line of the byte at `offset`, counted from 1. Offsets must not go backwards from call to call.
    pub(crate) fn line_at(&mut self, bytes: &[u8], offset: usize) -> u64 {
        while self.offset < offset && self.offset < bytes.len() {
            self.step(bytes);
        }
        self.line
    }

    /// The line of the first byte at or after `offset` that ends no line: where a record starts.
    pub(crate) fn record_line_at(&mut self, bytes: &[u8], offset: usize) -> u64 {
        self.line_at(bytes, offset);
        while matches!(bytes.get(self.offset), Some(b'\r' | b'\n')) {
            self.step(bytes);
        }
        self.line
    }

    fn step(&mut self, bytes: &[u8]) {
        let ends_line = match bytes[self.offset] {
            b'\n' => true,
            b'\r' => bytes.get(self.offset + 1) != Some(&b'\n'),
            _ => false,
        };
        self.line += u64::from(ends_line);
        self.offset += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_with_lf_with_cr_lf_and_with_a_lone_cr() {
        let bytes = b"a\nb\r\nc\rd";
        let mut lines = Lines::default();
        assert_eq!([0, 2, 5, 7].map(|offset| lines.line_at(bytes, offset)), [1, 2, 3, 4]);
    }

    #[test]
    fn a_record_starts_after_the_line_ends_before_it() {
        let bytes = b"a\r\n\r\n\nb";
        assert_eq!(Lines::default().record_line_at(bytes, 2), 4);
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_text() {
        assert_eq!(decode(b"\xef\xbb\xbfDate"), Ok("Date"));
    }

    #[test]
    fn text_that_is_not_utf_8_names_its_line() {
        assert_eq!(decode(b"Date\nok\n\xff"), Err(ImportError::Encoding { line: 3 }));
        assert_eq!(decode(b"\xff\xfeD\0"), Err(ImportError::Encoding { line: 1 }));
        assert_eq!(decode(b"Date\na\0b"), Err(ImportError::NulByte { line: 2 }));
    }
}
