//! The users of `tidemark local`: one per imported file.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use serde::Serialize;
use tabled::builder::Builder;
use tabled::settings::Alignment;
use tabled::settings::Style;
use tabled::settings::object::Columns;
use tokio_postgres::Client;
use tokio_postgres::types::Type;
use uuid::Uuid;

use crate::failure::Failure;

const LOCAL_SUMMARY: &str = include_str!("sql/local_summary.sql");
pub(crate) const KNOWN_USERS: &str = include_str!("sql/known_users.sql");

/// The namespace of users made up for files.
const NAMESPACE: Uuid = Uuid::from_u128(0x0f5e_3c55_3f2b_4b7a_8f0d_91a2_7c44_e6b1);

/// A file and whose workouts it holds.
#[derive(Debug, Clone)]
pub(crate) struct LocalUser {
    /// The user.
    pub(crate) id: Uuid,
    /// The file.
    pub(crate) file: PathBuf,
}

impl LocalUser {
    /// Reads `FILE` or `FILE=USER_UUID`. A file that exists under the whole text is meant as it is.
    ///
    /// A file without a user is given one of its own, by where it lies as seen from `home`, the folder that keeps the
    /// database; by its whole path where that is elsewhere. So files of one name in two folders are two users.
    pub(crate) fn parse(text: &OsStr, home: Option<&Path>) -> anyhow::Result<Self> {
        let bytes = text.as_bytes();
        // A name may hold any bytes; those of a user are plain.
        if !Path::new(text).exists()
            && let Some(at) = bytes.iter().rposition(|&byte| byte == b'=')
        {
            if at == 0 {
                return Err(no_file(text));
            }
            let id = std::str::from_utf8(&bytes[at + 1..]).ok().and_then(|id| id.parse().ok()).ok_or_else(|| {
                Failure::usage(
                    format!("the user after the last '=' of --import {} is no UUID", text.display()),
                    "give FILE=USER_UUID, or FILE alone",
                )
            })?;
            return Ok(Self { id, file: PathBuf::from(OsStr::from_bytes(&bytes[..at])) });
        }
        if text.is_empty() {
            return Err(no_file(text));
        }
        let file = PathBuf::from(text);
        let place = std::fs::canonicalize(&file).unwrap_or_else(|_missing| file.clone());
        let seen = home.and_then(|home| place.strip_prefix(home).ok()).unwrap_or(&place);
        Ok(Self { id: Uuid::new_v5(&NAMESPACE, seen.as_os_str().as_encoded_bytes()), file })
    }
}

/// Names with commas between them.
fn listed<'a>(names: impl Iterator<Item = &'a OsStr>) -> String {
    names.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(", ")
}

fn no_file(text: &OsStr) -> anyhow::Error {
    Failure::usage(format!("--import '{}' names no file", text.display()), "give FILE=USER_UUID, or FILE alone").into()
}

/// What is published of one user. Volumes are kilograms, as logged.
#[derive(Debug, Serialize)]
pub(crate) struct UserSummary {
    user_id: Uuid,
    /// The user's files as they were given, with commas between them; none for a user who was there before.
    file: Option<String>,
    /// The same without their folders.
    #[serde(skip)]
    file_names: String,
    stale: bool,
    workouts: i32,
    sets: i64,
    exercises: i32,
    training_days: i32,
    working_volume: f64,
    total_volume: f64,
    effective_volume: f64,
    refreshes: i64,
}

impl UserSummary {
    /// Reads the summaries of `users`, or of everybody known where none is given.
    pub(crate) async fn read_all(client: &Client, users: &[LocalUser]) -> anyhow::Result<Vec<Self>> {
        let mut wanted: Vec<(Uuid, Vec<&Path>)> = Vec::new();
        for user in users {
            match wanted.iter_mut().find(|(id, _files)| *id == user.id) {
                Some((_id, files)) if files.contains(&user.file.as_path()) => {}
                Some((_id, files)) => files.push(&user.file),
                None => wanted.push((user.id, vec![&user.file])),
            }
        }
        if users.is_empty() {
            for row in client.query_typed(KNOWN_USERS, &[]).await? {
                wanted.push((row.try_get(0)?, Vec::new()));
            }
        }
        let mut summaries = Vec::new();
        for (id, files) in wanted {
            for row in client.query_typed(LOCAL_SUMMARY, &[(&id, Type::UUID)]).await? {
                let kilograms = |index: usize| -> anyhow::Result<f64> {
                    let exact: Decimal = row.try_get(index)?;
                    Ok(exact.to_f64().unwrap_or(f64::NAN))
                };
                summaries.push(Self {
                    user_id: id,
                    file: (!files.is_empty()).then(|| listed(files.iter().map(|file| file.as_os_str()))),
                    file_names: listed(files.iter().filter_map(|file| file.file_name())),
                    stale: row.try_get(0)?,
                    workouts: row.try_get(1)?,
                    training_days: row.try_get(2)?,
                    exercises: row.try_get(3)?,
                    sets: row.try_get(4)?,
                    working_volume: kilograms(5)?,
                    total_volume: kilograms(6)?,
                    effective_volume: kilograms(7)?,
                    refreshes: row.try_get(8)?,
                });
            }
        }
        Ok(summaries)
    }

    /// The summaries as a table.
    pub(crate) fn table(summaries: &[Self], seconds: f64) -> String {
        let mut builder = Builder::default();
        builder.push_record([
            "file",
            "workouts",
            "sets",
            "exercises",
            "working volume kg",
            "total volume kg",
            "refreshes",
            "fresh",
            "user",
        ]);
        for summary in summaries {
            builder.push_record([
                summary.file_names.clone(),
                summary.workouts.to_string(),
                summary.sets.to_string(),
                summary.exercises.to_string(),
                format!("{:.2}", summary.working_volume),
                format!("{:.2}", summary.total_volume),
                summary.refreshes.to_string(),
                if summary.stale { "no" } else { "yes" }.to_owned(),
                summary.user_id.to_string(),
            ]);
        }
        let mut table = builder.build();
        table.with(Style::sharp());
        table.modify(Columns::new(1..7), Alignment::right());
        format!("{table}\n{} users fresh after {seconds:.2} s", summaries.iter().filter(|user| !user.stale).count())
    }
}
