//! Bytes to text: what must hold before anything is read as CSV.

use std::borrow::Cow;

use crate::ImportError;

/// Largest accepted file, in bytes. A Hevy row takes about 115 bytes, so this is room for half a million sets.
pub const FILE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Longest accepted cell, in bytes. The longest real ones are notes of a few thousand characters.
pub const CELL_BYTES_MAX: usize = 64 * 1024;

/// Files that people have at hand beside the export, or instead of it: how they begin, what they are, what to do.
const OTHER_FILES: &[(&[u8], &str, &str)] = &[
    (b"PK\x03\x04", "a ZIP archive or a spreadsheet", "unpack it, or save the sheet as CSV UTF-8"),
    (b"\x1f\x8b", "a compressed file", "unpack it and import what is in it"),
    (b"SQLite format 3\0", "a database, as applications write for their own backup", "export the workouts as CSV"),
    (b"\xd0\xcf\x11\xe0", "an old spreadsheet", "save the sheet as CSV UTF-8"),
    (b"%PDF", "a PDF", "export the workouts as CSV"),
    (b"<", "XML or HTML", "export the workouts as CSV"),
    (b"{", "JSON", "export the workouts as CSV"),
    (b"[", "JSON", "export the workouts as CSV"),
];

/// The text of the file without its byte order mark.
pub(crate) fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, ImportError> {
    if bytes.len() > FILE_BYTES_MAX {
        return Err(ImportError::TooLarge { bytes: bytes.len() });
    }
    if let Some(to_unit) = utf_16(bytes) {
        return decode_utf_16(bytes, to_unit).map(Cow::Owned);
    }
    if let Some(&(_, seen, instead)) = OTHER_FILES.iter().find(|(start, ..)| bytes.starts_with(start)) {
        return Err(ImportError::NotCsv { seen, instead });
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if let Some(at) = bytes.iter().position(|&byte| byte == 0) {
        return Err(ImportError::NulByte { line: Lines::default().line_at(bytes, at) });
    }
    std::str::from_utf8(bytes)
        .map(Cow::Borrowed)
        .map_err(|error| ImportError::Encoding { line: Lines::default().line_at(bytes, error.valid_up_to()) })
}

/// How two bytes make a unit, if the file is UTF-16: told by its mark, or by two letters of a header whose other bytes are 0.
fn utf_16(bytes: &[u8]) -> Option<fn([u8; 2]) -> u16> {
    match bytes {
        [0xff, 0xfe, ..] => Some(u16::from_le_bytes),
        [0xfe, 0xff, ..] => Some(u16::from_be_bytes),
        [1..=255, 0, 1..=255, 0, ..] => Some(u16::from_le_bytes),
        [0, 1..=255, 0, 1..=255, ..] => Some(u16::from_be_bytes),
        _ => None,
    }
}

fn decode_utf_16(bytes: &[u8], to_unit: fn([u8; 2]) -> u16) -> Result<String, ImportError> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let mut text = String::with_capacity(pairs.len());
    for unit in char::decode_utf16(pairs.iter().map(|&pair| to_unit(pair))) {
        match unit {
            Ok('\0') => return Err(ImportError::NulByte { line: last_line(&text) }),
            Ok(character) => text.push(character),
            Err(_) => return Err(ImportError::Encoding { line: last_line(&text) }),
        }
    }
    if !rest.is_empty() {
        return Err(ImportError::Encoding { line: last_line(&text) });
    }
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

fn last_line(text: &str) -> u64 {
    Lines::default().line_at(text.as_bytes(), text.len())
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
        assert_eq!(decode(b"\xef\xbb\xbfDate"), Ok("Date".into()));
    }

    #[test]
    fn text_that_is_not_utf_8_names_its_line() {
        assert_eq!(decode(b"Date\nok\n\xff"), Err(ImportError::Encoding { line: 3 }));
        assert_eq!(decode(b"Date\na\0b"), Err(ImportError::NulByte { line: 2 }));
    }

    #[test]
    fn utf_16_is_read_with_its_mark_and_without() {
        let little = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
        let big = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>();
        let text = "Date,Übung\n1,💪";
        for bytes in [little(text), big(text), little(&format!("\u{feff}{text}")), big(&format!("\u{feff}{text}"))] {
            assert_eq!(decode(&bytes), Ok(text.into()));
        }
        assert_eq!(decode(b"\xff\xfeD\0\n\0\x00\xd8"), Err(ImportError::Encoding { line: 2 }));
        assert_eq!(decode(b"\xff\xfeD\0a"), Err(ImportError::Encoding { line: 1 }));
        assert_eq!(decode(b"\xff\xfeD\0\0\0"), Err(ImportError::NulByte { line: 1 }));
    }

    #[test]
    fn a_file_of_another_kind_is_named() {
        for (bytes, seen) in [
            (&b"PK\x03\x04..."[..], "a ZIP archive or a spreadsheet"),
            (b"SQLite format 3\0", "a database, as applications write for their own backup"),
            (b"{\"workouts\":[]}", "JSON"),
            (b"<?xml version=\"1.0\"?>", "XML or HTML"),
        ] {
            assert!(matches!(decode(bytes), Err(ImportError::NotCsv { seen: found, .. }) if found == seen), "{seen}");
        }
    }
}
