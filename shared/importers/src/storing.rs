//! From a parsed export to stored workouts: one transaction, and an account of every row. The one part of this crate that
//! needs a database, behind the feature `storing`.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;
use serde_json::json;
use tokio_postgres::types::{Json, Type};
use tokio_postgres::{Client, Error, Transaction};
use uuid::Uuid;

use crate::{Import, ImportedSet, ImportedWorkout};

const IMPORT_WORKOUTS: &str = include_str!("sql/import_workouts.sql");
const IMPORT_ZONE: &str = include_str!("sql/import_zone.sql");

/// The namespace of imported workouts' ids. The same workout of the same source has the same id in every export.
const NAMESPACE: Uuid = Uuid::from_u128(0x5b0d_4b2e_6c1f_4d6b_9a57_1d1f_0c8e_7a31);

/// Why a row of a stored workout was not imported.
const BEFORE: &str = "imported before";
const DIFFERENT: &str = "imported before and different now, on one of both sides; --replace takes what the file says";

/// Workouts stored per statement: small enough for a progress bar that moves.
const WORKOUTS_PER_STATEMENT: usize = 200;

/// The account of an import: imported + skipped = rows.
#[derive(Debug, Serialize)]
pub struct Account {
    /// Which application exported the file.
    pub format: String,
    /// Data rows of the file.
    pub rows: u64,
    /// Rows that are stored now and were not before.
    pub imported: u64,
    /// Every other row, with the line where it starts and the reason.
    pub skipped: Vec<SkippedRow>,
    /// Workouts in the file.
    pub workouts: usize,
    /// Workouts of the file that were imported before, are others now, and were left as they are stored.
    pub different: usize,
    /// The unit in which weights were taken that state none, where no option said it: `kg` or `lb`.
    pub assumed_unit: Option<String>,
}

/// One row that was not imported.
#[derive(Debug, Serialize)]
pub struct SkippedRow {
    /// Line of the file where it starts.
    pub line: u64,
    /// Why it was not imported.
    pub reason: String,
}

/// How an import is stored.
#[derive(Debug, Clone, Copy, Default)]
pub struct StoreOptions<'zone> {
    /// The zone in which local times are taken; without it that of the user's profile, else UTC.
    pub zone: Option<&'zone str>,
    /// Whether workouts that were imported before and are others now become what the file says. Otherwise they stay.
    pub replace: bool,
}

/// Which sets were written, and which workouts were left alone because they differ.
#[derive(Debug, Default)]
struct Stored {
    sets: HashSet<(Uuid, i32)>,
    different: HashSet<Uuid>,
}

/// Stores the import for `user` in one transaction. What is stored already stays as it is, but for what
/// [`StoreOptions::replace`] says. `on_progress` is told how many sets each statement dealt with.
///
/// # Errors
/// What the server says; nothing is stored then. Where the commit itself was cut off the outcome is unknown, and importing
/// again adds only what is missing.
pub async fn store(
    client: &mut Client,
    user: Uuid,
    import: &Import,
    options: StoreOptions<'_>,
    mut on_progress: impl FnMut(u64),
) -> Result<Account, Error> {
    let transaction = client.transaction().await?;
    let zone: String = transaction.query_one(IMPORT_ZONE, &[&user, &options.zone]).await?.try_get(0)?;
    let mut stored = Stored::default();
    for workouts in import.workouts.chunks(WORKOUTS_PER_STATEMENT) {
        store_some(&transaction, user, workouts, (&zone, options.replace), &mut stored).await?;
        on_progress(workouts.iter().map(|workout| workout.sets.len() as u64).sum());
    }
    transaction.commit().await?;
    Ok(account(import, &stored))
}

async fn store_some(
    transaction: &Transaction<'_>,
    user: Uuid,
    workouts: &[ImportedWorkout],
    (zone, replace): (&str, bool),
    stored: &mut Stored,
) -> Result<(), Error> {
    // One statement has one source; a file has one as well.
    let source = workouts.first().map_or("", |workout| workout.source);
    let documents = Json(workouts.iter().map(document).collect::<Vec<_>>());
    let rows = transaction
        .query_typed(
            IMPORT_WORKOUTS,
            &[
                (&user, Type::UUID),
                (&source, Type::TEXT),
                (&zone, Type::TEXT),
                (&documents, Type::JSONB),
                (&replace, Type::BOOL),
            ],
        )
        .await?;
    for row in rows {
        let workout = row.try_get(0)?;
        match row.try_get(1)? {
            Some(position) => _ = stored.sets.insert((workout, position)),
            None => _ = stored.different.insert(workout),
        }
    }
    Ok(())
}

/// The identity of an imported workout: source, local start and slot, never its title or notes.
fn workout_id(workout: &ImportedWorkout) -> Uuid {
    let identity = format!("{}|{}|{}", workout.source, workout.local_start, workout.slot);
    Uuid::new_v5(&NAMESPACE, identity.as_bytes())
}

fn document(workout: &ImportedWorkout) -> serde_json::Value {
    json!({
        "id": workout_id(workout),
        "local_start": workout.local_start.to_string(),
        "is_utc": workout.is_utc,
        "duration_seconds": workout.duration_seconds,
        "title": workout.title,
        "notes": workout.notes,
        "sets": workout.sets.iter().map(set_document).collect::<Vec<_>>(),
    })
}

fn set_document(set: &ImportedSet) -> serde_json::Value {
    json!({
        "position": set.position,
        "exercise": set.exercise,
        "kind": set.kind.as_str(),
        "weight": set.weight.map(|weight| weight.value().to_string()),
        "unit": set.weight.map_or("kg", |weight| weight.unit().as_str()),
        "reps": set.reps,
        "duration_seconds": set.duration_seconds,
        "distance_meters": set.distance_meters.map(|distance| distance.to_string()),
        "rpe": set.rpe.map(|rpe| rpe.to_string()),
        "superset": set.superset,
        "notes": set.notes,
    })
}

fn account(import: &Import, stored: &Stored) -> Account {
    let mut skipped: Vec<SkippedRow> =
        import.skipped.iter().map(|row| SkippedRow { line: row.line, reason: row.reason.to_string() }).collect();
    // A row of several sets was imported if one of them was.
    let mut lines: BTreeMap<u64, Option<&'static str>> = BTreeMap::new();
    for workout in &import.workouts {
        let id = workout_id(workout);
        let reason = if stored.different.contains(&id) { DIFFERENT } else { BEFORE };
        for set in &workout.sets {
            let is_new = i32::try_from(set.position).is_ok_and(|position| stored.sets.contains(&(id, position)));
            let known = lines.entry(set.line).or_insert(Some(reason));
            if is_new {
                *known = None;
            }
        }
    }
    let imported = lines.values().filter(|reason| reason.is_none()).count() as u64;
    let known = lines.into_iter().filter_map(|(line, reason)| Some(SkippedRow { line, reason: reason?.to_owned() }));
    skipped.extend(known);
    skipped.sort_by_key(|row| row.line);
    Account {
        format: import.format.to_string(),
        rows: import.rows,
        imported,
        skipped,
        workouts: import.workouts.len(),
        different: stored.different.len(),
        assumed_unit: import.assumed_unit.map(|unit| unit.as_str().to_owned()),
    }
}

impl Account {
    /// The account in words, the reasons counted.
    #[must_use]
    pub fn describe(&self) -> String {
        let mut counted: HashMap<&str, u64> = HashMap::new();
        for row in &self.skipped {
            *counted.entry(&row.reason).or_default() += 1;
        }
        let mut reasons: Vec<String> =
            counted.into_iter().map(|(reason, count)| format!("  skipped {count}: {reason}")).collect();
        reasons.sort();
        let head = format!(
            "{}: {} of {} rows imported, {} workouts in the file",
            self.format, self.imported, self.rows, self.workouts
        );
        let assumed = self.assumed_unit.as_ref().map(|unit| {
            format!("  the file does not say in which unit its weights are: they were taken as {unit}; --unit says it")
        });
        let empty = (self.rows == 0)
            .then(|| "  the file has a header and no rows; choose a longer period and export it again".to_owned());
        std::iter::once(head).chain(reasons).chain(assumed).chain(empty).collect::<Vec<_>>().join("\n")
    }
}
