//! The rows of a file, each with the physical line where it starts.

use csv::StringRecord;

use crate::{ImportError, text::Lines};

/// Reads the data rows of a text, after its header.
pub(crate) struct Table<'text> {
    bytes: &'text [u8],
    reader: csv::Reader<&'text [u8]>,
    lines: Lines,
}

impl<'text> Table<'text> {
    /// Opens the text and leaves its header behind. Line ends only, as after the header of an empty export, are no rows.
    pub(crate) fn open(text: &'text str, delimiter: u8) -> Self {
        let bytes = text.as_bytes();
        let reader = csv::ReaderBuilder::new().delimiter(delimiter).has_headers(true).flexible(true).from_reader(bytes);
        Self { bytes, reader, lines: Lines::default() }
    }

    /// Reads the next row into `record` and gives its line, or nothing at the end.
    pub(crate) fn next_row(&mut self, record: &mut StringRecord) -> Result<Option<u64>, ImportError> {
        match self.reader.read_record(record) {
            Ok(false) => Ok(None),
            Ok(true) => {
                let byte = record.position().map_or(0, csv::Position::byte);
                let offset = usize::try_from(byte).unwrap_or(usize::MAX);
                Ok(Some(self.lines.record_line_at(self.bytes, offset)))
            }
            // The text is valid UTF-8 in memory and rows may be ragged, so nothing is left that could fail here.
            Err(error) => Err(ImportError::Encoding { line: error.position().map_or(1, csv::Position::line) }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(text: &str) -> Vec<u64> {
        let mut table = Table::open(text, b',');
        let mut record = StringRecord::new();
        std::iter::from_fn(|| table.next_row(&mut record).expect("the text is UTF-8")).collect()
    }

    #[test]
    fn a_row_has_the_line_where_it_starts() {
        assert_eq!(lines_of("h\na\nb\nc"), [2, 3, 4]);
        assert_eq!(lines_of("h\r\na\r\nb\r\n"), [2, 3]);
        assert_eq!(lines_of("h\n\n\na\n\r\nb"), [4, 6]);
        assert_eq!(lines_of("h\n\"two\nlines\"\nb\n"), [2, 4]);
        assert_eq!(lines_of("h\ra\rb"), [2, 3]);
        assert_eq!(lines_of("h\n"), [0; 0]);
    }
}
