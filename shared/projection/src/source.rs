//! Reading one user's source in one snapshot, and turning its rows into a history.

use std::collections::HashMap;
use std::pin::pin;

use futures_util::TryStreamExt;
use futures_util::future::{join, join5};
use jiff::civil::Weekday;
use rust_decimal::Decimal;
use tidemark_queue::Error;
use tidemark_stats::{Bodyweight, ESTIMATE_REPS_MAX, Exercise, History, Profile, Set, TypedWeight, Unit, Workout};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row};
use uuid::Uuid;

use crate::statements::{
    SOURCE_BODYWEIGHTS, SOURCE_DIRTY, SOURCE_EXERCISES, SOURCE_PROFILE, SOURCE_SETS, SOURCE_WORKOUTS,
};

/// What one user's compute needs.
pub(crate) struct Source {
    /// Everything that was logged.
    pub(crate) history: History,
    /// What has to be published anew.
    pub(crate) dirty: Dirty,
}

/// Which exercises changed since the last publish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Dirty {
    /// All of them: the user was marked as a whole, never published, or published by other formulas.
    Everything,
    /// These; their merge targets are added when the result is staged.
    Exercises(Vec<Uuid>),
}

/// Reads the source of `user_id`. The caller's transaction has one snapshot; the requests travel together.
pub(crate) async fn read(client: &Client, user_id: Uuid, definition_version: i32) -> Result<Source, Error> {
    let of_user = [(&user_id as _, Type::UUID)];
    let ((profile, dirty, exercises, workouts, bodyweights), sets) = join(
        join5(
            client.query_typed(SOURCE_PROFILE, &of_user),
            client.query_typed(SOURCE_DIRTY, &[(&user_id, Type::UUID), (&definition_version, Type::INT4)]),
            client.query_typed(SOURCE_EXERCISES, &of_user),
            client.query_typed(SOURCE_WORKOUTS, &of_user),
            client.query_typed(SOURCE_BODYWEIGHTS, &of_user),
        ),
        client.query_typed_raw(SOURCE_SETS, [(user_id, Type::UUID)]),
    )
    .await;
    let exercises = exercises?.iter().map(exercise).collect::<Result<Vec<_>, _>>()?;
    let workouts = workouts?.iter().map(workout).collect::<Result<Vec<_>, _>>()?;
    let exercise_places = places(exercises.iter().map(|exercise| exercise.id));
    let workout_places = places(workouts.iter().map(|workout| workout.id));
    let mut sets_read = Vec::new();
    // Row by row: a million rows at once would take several times the memory of the sets.
    let mut rows = pin!(sets?);
    while let Some(row) = rows.try_next().await? {
        sets_read.push(set(&row, &workout_places, &exercise_places)?);
    }
    let history = History {
        profile: profile_of(&profile?)?,
        exercises,
        workouts,
        sets: sets_read,
        bodyweights: bodyweights?.iter().map(bodyweight).collect::<Result<Vec<_>, _>>()?,
    };
    Ok(Source { history, dirty: dirty_of(&dirty?)? })
}

fn places(ids: impl Iterator<Item = Uuid>) -> HashMap<Uuid, u32> {
    ids.zip(0_u32..).collect()
}

fn unacceptable(what: &'static str) -> Error {
    Error::Invalid(format!("the source holds {what} that the statistics do not know"))
}

fn profile_of(rows: &[Row]) -> Result<Profile, Error> {
    let row = rows.first().ok_or_else(|| unacceptable("a profile"))?;
    let week_start: i16 = row.try_get(0)?;
    let formula: &str = row.try_get(1)?;
    Ok(Profile {
        week_start: i8::try_from(week_start)
            .ok()
            .and_then(|day| Weekday::from_monday_one_offset(day).ok())
            .ok_or_else(|| unacceptable("a week start"))?,
        formula: formula.parse().map_err(|_unknown| unacceptable("a formula"))?,
        estimate_max_reps: ESTIMATE_REPS_MAX,
    })
}

fn dirty_of(rows: &[Row]) -> Result<Dirty, Error> {
    let row = rows.first().ok_or_else(|| unacceptable("dirty marks"))?;
    Ok(if row.try_get(0)? { Dirty::Everything } else { Dirty::Exercises(row.try_get(1)?) })
}

fn exercise(row: &Row) -> Result<Exercise, Error> {
    let load: &str = row.try_get(2)?;
    let implements: i16 = row.try_get(4)?;
    Ok(Exercise {
        id: row.try_get(0)?,
        name: row.try_get(1)?,
        load: load.parse().map_err(|_unknown| unacceptable("a kind of load"))?,
        bodyweight_share: row.try_get(3)?,
        implements: u8::try_from(implements).map_err(|_range| unacceptable("a number of implements"))?,
        merged_into: row.try_get(5)?,
        per_side: row.try_get(6)?,
    })
}

fn workout(row: &Row) -> Result<Workout, Error> {
    Ok(Workout {
        id: row.try_get(0)?,
        local_date: row.try_get(1)?,
        local_time: row.try_get(2)?,
        duration_seconds: row.try_get(3)?,
    })
}

fn bodyweight(row: &Row) -> Result<Bodyweight, Error> {
    Ok(Bodyweight { on: row.try_get(0)?, weight: weight(row.try_get(1)?, row.try_get(2)?)? })
}

fn weight(value: Decimal, unit: &str) -> Result<TypedWeight, Error> {
    let unit: Unit = unit.parse().map_err(|_unknown| unacceptable("a unit"))?;
    TypedWeight::new(value, unit).map_err(|_invalid| unacceptable("a weight"))
}

fn set(row: &Row, workouts: &HashMap<Uuid, u32>, exercises: &HashMap<Uuid, u32>) -> Result<Set, Error> {
    let workout_id: Uuid = row.try_get(0)?;
    let exercise_id: Uuid = row.try_get(1)?;
    let kind: &str = row.try_get(3)?;
    let value: Option<Decimal> = row.try_get(4)?;
    Ok(Set {
        workout: *workouts.get(&workout_id).ok_or_else(|| unacceptable("a set of a workout"))?,
        exercise: *exercises.get(&exercise_id).ok_or_else(|| unacceptable("a set of an exercise"))?,
        position: row.try_get(2)?,
        kind: kind.parse().map_err(|_unknown| unacceptable("a kind of set"))?,
        weight: value.map(|value| weight(value, row.try_get(5)?)).transpose()?,
        reps: row.try_get(6)?,
        duration_seconds: row.try_get(7)?,
        distance_meters: row.try_get(8)?,
    })
}
