//! Jobs as lines of a table.

use serde_json::value::RawValue;
use tidemark_queue::jobs::Status;
use tidemark_status::attention::duration;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::table::{Column, table};

/// Characters of a payload or an error on one line.
const TEXT_MAX: usize = 40;
/// Characters of a key on one line.
const KEY_MAX: usize = 24;

/// What the table shows of one job.
#[derive(Debug, Default)]
pub(crate) struct JobLine {
    pub(crate) job_id: Uuid,
    pub(crate) job_type: i32,
    /// `None`: a status that this build does not know.
    pub(crate) status: Option<Status>,
    pub(crate) priority: i32,
    pub(crate) attempts: i32,
    pub(crate) max_attempts: i32,
    pub(crate) dedupe_key: String,
    pub(crate) age_seconds: i64,
    /// Seconds until it is due, since it began to run, or since it was over.
    pub(crate) since_seconds: i64,
    pub(crate) lease_expired: bool,
    pub(crate) error_code: String,
    pub(crate) last_error: String,
    pub(crate) payload: String,
    /// The whole row, where it was asked for.
    pub(crate) document: Option<Box<RawValue>>,
}

impl JobLine {
    /// One row of the statement that describes jobs.
    pub(crate) fn from_row(row: &Row) -> anyhow::Result<Self> {
        let document: Option<String> = row.try_get("document")?;
        Ok(Self {
            job_id: row.try_get("job_id")?,
            job_type: row.try_get("job_type")?,
            status: Status::of_number(row.try_get("status")?),
            priority: row.try_get("priority")?,
            attempts: row.try_get("attempts")?,
            max_attempts: row.try_get("max_attempts")?,
            dedupe_key: row.try_get("dedupe_key")?,
            age_seconds: row.try_get("age_seconds")?,
            since_seconds: row.try_get("since_seconds")?,
            lease_expired: row.try_get("lease_expired")?,
            error_code: row.try_get("error_code")?,
            last_error: row.try_get("last_error")?,
            payload: row.try_get("payload")?,
            document: document.map(RawValue::from_string).transpose()?,
        })
    }

    /// Since when, or when.
    fn when(&self) -> String {
        let seconds = duration(self.since_seconds.max(0));
        match self.status {
            Some(Status::Pending) if self.since_seconds > 0 => format!("due in {seconds}"),
            Some(Status::Pending) => "due now".to_owned(),
            Some(Status::Running) if self.lease_expired => format!("for {seconds}, lease expired"),
            Some(Status::Running) => format!("for {seconds}"),
            _ => format!("{seconds} ago"),
        }
    }

    fn error(&self) -> String {
        match (self.error_code.as_str(), self.last_error.as_str()) {
            ("", text) => shortened(text, TEXT_MAX),
            (code, "") => shortened(code, TEXT_MAX),
            (code, text) if code == text => shortened(code, TEXT_MAX),
            (code, text) => shortened(&format!("{code}: {text}"), TEXT_MAX),
        }
    }

    fn cells(&self) -> Vec<String> {
        vec![
            self.job_id.to_string(),
            self.job_type.to_string(),
            self.status.map_or("unknown", Status::word).to_owned(),
            self.when(),
            format!("{} of {}", self.attempts, self.max_attempts),
            self.priority.to_string(),
            duration(self.age_seconds.max(0)),
            shortened(&self.dedupe_key, KEY_MAX),
            shortened(&self.payload, TEXT_MAX),
            self.error(),
        ]
    }
}

/// The jobs as a table; columns of which every cell is empty are left out.
pub(crate) fn table_of(lines: &[JobLine]) -> String {
    let columns = [
        Column::Words("job"),
        Column::Figures("type"),
        Column::Words("status"),
        Column::Words("when"),
        Column::Figures("attempts"),
        Column::Figures("priority"),
        Column::Figures("age"),
        Column::Words("key"),
        Column::Words("payload"),
        Column::Words("last error"),
    ];
    let rows: Vec<Vec<String>> = lines.iter().map(JobLine::cells).collect();
    let used: Vec<bool> = (0..columns.len()).map(|index| rows.iter().any(|row| !row[index].is_empty())).collect();
    let columns: Vec<Column> = columns.into_iter().zip(&used).filter(|(_, used)| **used).map(|(one, _)| one).collect();
    let kept = |row: Vec<String>| row.into_iter().zip(&used).filter(|(_, used)| **used).map(|(one, _)| one).collect();
    table(&columns, rows.into_iter().map(kept))
}

/// Text on one line: cut, with a mark where something is missing.
pub(crate) fn shortened(text: &str, characters: usize) -> String {
    let on_one_line = |character: char| if character.is_whitespace() { ' ' } else { character };
    if text.chars().count() <= characters {
        return text.chars().map(on_one_line).collect();
    }
    let mut short: String = text.chars().take(characters - 1).map(on_one_line).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: u128, status: Status) -> JobLine {
        JobLine {
            job_id: Uuid::from_u128((0x0196_0000_0000_7000_8000 << 48) | number),
            job_type: 7,
            status: Some(status),
            priority: 100,
            max_attempts: 3,
            age_seconds: 4000,
            payload: r#"{"user": 1}"#.to_owned(),
            ..JobLine::default()
        }
    }

    #[test]
    fn a_job_of_each_status_says_when_and_why() {
        let lines = [
            JobLine { since_seconds: -3, dedupe_key: "nightly-report".to_owned(), ..line(1, Status::Pending) },
            JobLine { since_seconds: 300, attempts: 1, last_error: "no answer".to_owned(), ..line(2, Status::Pending) },
            JobLine { since_seconds: 12, attempts: 1, ..line(3, Status::Running) },
            JobLine { since_seconds: 90, attempts: 2, lease_expired: true, ..line(4, Status::Running) },
            JobLine { since_seconds: 7300, attempts: 1, priority: -5, ..line(5, Status::Done) },
            JobLine {
                since_seconds: 60,
                attempts: 3,
                error_code: "deadline_exceeded".to_owned(),
                last_error: "the handler ran\nfor longer than 60 s and was cancelled".to_owned(),
                ..line(6, Status::Dead)
            },
            JobLine { error_code: "cancelled".to_owned(), last_error: "cancelled".to_owned(), ..line(7, Status::Dead) },
        ];
        insta::assert_snapshot!(table_of(&lines));
    }

    #[test]
    fn a_column_without_content_is_left_out() {
        let table = table_of(&[line(1, Status::Done)]);
        assert!(!table.contains("key") && !table.contains("last error"), "{table}");
    }

    #[test]
    fn a_long_text_is_cut_between_characters_and_stays_on_one_line() {
        assert_eq!(shortened("über\nalles", 40), "über alles");
        assert_eq!(shortened("üüüüü", 5), "üüüüü");
        assert_eq!(shortened("üüüüüü", 5), "üüüü…");
    }
}
