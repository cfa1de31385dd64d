//! The end of what a server or `initdb` said, for an error that a person can act on.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// So many lines are enough to hold a FATAL line with its detail and hint.
const LINES: usize = 8;
/// Never more than this is read.
const BYTES_MAX: u64 = 8_192;

/// Length of the file now, 0 where there is none.
pub(crate) fn length(path: &Path) -> u64 {
    path.metadata().map(|found| found.len()).unwrap_or(0)
}

/// What was appended since the file had `start` bytes (all of it where the file is shorter now), at most its end.
pub(crate) fn since(path: &Path, start: u64) -> String {
    let end = length(path);
    let start = if start > end { 0 } else { start };
    let mut text = Vec::new();
    let read = File::open(path).and_then(|mut file| {
        file.seek(SeekFrom::Start(start.max(end.saturating_sub(BYTES_MAX))))?;
        file.take(BYTES_MAX).read_to_end(&mut text)
    });
    match read {
        Ok(_) => last_lines(&String::from_utf8_lossy(&text)),
        Err(error) => format!("its log {} cannot be read: {error}", path.display()),
    }
}

/// The last lines in one.
pub(crate) fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(LINES)..].join(" | ")
}
