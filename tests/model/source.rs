//! The people: saves through the functions, bulk SQL around them, attributes, bodyweights, profiles.

use std::cell::Cell;
use std::time::Instant;

use futures_util::future::join;
use serde_json::{Value, json};
use tokio_postgres::types::{Json, ToSql};
use uuid::Uuid;

use crate::history::Allowed;
use crate::operation::{Change, ChangeKind};
use crate::snapshot::Snapshot;
use crate::worker::Stage;
use crate::world::{DEADLINE, World};

/// Names of exercises; one is assisted by its name.
const EXERCISES: [&str; 4] = ["Squat", "Bench Press", "Pull Up (Assisted)", "Row"];

type Parameters = Vec<Box<dyn ToSql + Sync + Send>>;

/// Numbers drawn from one.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> u64 {
        let drawn = self.0 % sides;
        self.0 = (self.0 / sides) ^ self.0.rotate_left(29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        drawn
    }

    fn workout(&mut self) -> Value {
        let sets: Vec<Value> = (0..self.below(4))
            .map(|_set| {
                let mut one_of =
                    |words: &[&'static str]| words[usize::try_from(self.below(words.len() as u64)).unwrap()];
                let (exercise, unit) = (one_of(&EXERCISES), one_of(&["kg", "lb"]));
                let kind = one_of(&["normal", "normal", "warmup", "drop", "failure"]);
                json!({
                    "exercise": exercise,
                    "kind": kind,
                    "weight": 20 + 5 * self.below(20),
                    "unit": unit,
                    "reps": self.below(14),
                })
            })
            .collect();
        let (month, day) = (1 + self.below(3), 1 + self.below(28));
        json!({"started_at": format!("2026-{month:02}-{day:02}T22:30:00Z"), "time_zone": "Europe/Berlin", "sets": sets})
    }
}

impl World {
    /// Carries a change out. Where a publish holds the user's state row, the change must wait for it, and the publish is ended
    /// while it waits.
    pub(crate) async fn change(&mut self, change: &Change) -> Result<(), String> {
        let user = self.users[change.user];
        let (statement, parameters) = self.statement(user, change.kind, &mut Dice(change.dice)).await;
        let before = self.before().await;
        let is_answered = Cell::new(false);
        let asking = self.ask(change.kind, statement, &parameters, &is_answered);
        let (answered, ended) = join(asking, self.end_publishes(change.publish_commits, &is_answered)).await;
        answered?;
        let mut allowed = Allowed { changes_source: true, ..Allowed::default() };
        for index in ended? {
            let lease = self.workers[index].stage.lease().unwrap();
            self.workers[index].stage = Stage::Idle;
            self.count("a save waited for a publish");
            if change.publish_commits {
                allowed.moved.insert(lease.run_id, "published");
            }
        }
        let after = self.check(&before, &allowed).await?;
        must_be_marked(&before, &after, change.kind)?;
        for run in allowed.moved.into_keys() {
            self.check_published(run).await?;
        }
        self.count(name(change.kind));
        Ok(())
    }

    async fn ask(
        &self,
        kind: ChangeKind,
        statement: &str,
        parameters: &Parameters,
        is_answered: &Cell<bool>,
    ) -> Result<(), String> {
        let references: Vec<&(dyn ToSql + Sync)> = parameters.iter().map(|value| &**value as _).collect();
        let refused = |error| format!("{kind:?} was refused: {error:?}");
        if kind == ChangeKind::RolledBack {
            self.application.batch_execute("BEGIN").await.map_err(refused)?;
        }
        let answered = self.application.execute(statement, &references).await;
        if kind == ChangeKind::RolledBack {
            self.application.batch_execute("ROLLBACK").await.map_err(refused)?;
        }
        is_answered.set(true);
        answered.map(|_rows| ()).map_err(refused)
    }

    /// Ends publishes one after the other until the change has its answer; which workers' they were.
    async fn end_publishes(&self, commits: bool, is_answered: &Cell<bool>) -> Result<Vec<usize>, String> {
        let mut ended = Vec::new();
        for (index, worker) in self.workers.iter().enumerate() {
            if !matches!(worker.stage, Stage::Published(_)) {
                continue;
            }
            self.until_blocked_or(is_answered).await?;
            if is_answered.get() {
                break;
            }
            let end = if commits { "COMMIT" } else { "ROLLBACK" };
            worker.client.batch_execute(end).await.map_err(|error| format!("{end} of a publish: {error:?}"))?;
            ended.push(index);
        }
        Ok(ended)
    }

    /// Returns once the people's session waits for a lock, or has its answer.
    pub(crate) async fn until_blocked_or(&self, is_answered: &Cell<bool>) -> Result<(), String> {
        let began = Instant::now();
        let query = "SELECT cardinality(pg_blocking_pids($1)) > 0";
        loop {
            let is_blocked: bool = self.pipeline.one(query, &[&self.application_backend]).await.get(0);
            if is_blocked || is_answered.get() {
                return Ok(());
            }
            if began.elapsed() > DEADLINE {
                return Err("a save neither ends nor waits".to_owned());
            }
            tokio::task::yield_now().await;
        }
    }

    async fn statement(&mut self, user: Uuid, kind: ChangeKind, dice: &mut Dice) -> (&'static str, Parameters) {
        let everybody = self.users.to_vec();
        match kind {
            ChangeKind::Save | ChangeKind::RolledBack => {
                let mut workout = dice.workout();
                self.last_workout += 1;
                workout["id"] = json!(Uuid::from_u128(self.last_workout));
                ("SELECT public.save_workout_v1($1, $2)", vec![Box::new(user), Box::new(Json(workout))])
            }
            ChangeKind::SaveAgain => {
                let mut workout = dice.workout();
                workout["id"] = json!(self.some_workout(user, dice).await);
                ("SELECT public.save_workout_v1($1, $2)", vec![Box::new(user), Box::new(Json(workout))])
            }
            ChangeKind::Edit => (
                "SELECT public.edit_workout_v1($1, id, $3) FROM public.workouts WHERE user_id = $1 AND id = $2",
                vec![Box::new(user), Box::new(self.some_workout(user, dice).await), Box::new(Json(dice.workout()))],
            ),
            ChangeKind::Delete => (
                "SELECT public.delete_workout_v1($1, $2)",
                vec![Box::new(user), Box::new(self.some_workout(user, dice).await)],
            ),
            ChangeKind::BulkInsert => (
                "INSERT INTO public.workout_sets (user_id, workout_id, position, exercise_id, weight, reps)
                 SELECT workout.user_id, workout.id, 100 + added.place, exercise.id, 60, 3 + added.place
                 FROM public.workouts AS workout
                 CROSS JOIN generate_series(1, 2) AS added (place)
                 JOIN LATERAL (
                    SELECT listed.id FROM public.exercises AS listed WHERE listed.user_id = workout.user_id
                    ORDER BY listed.name LIMIT 1
                 ) AS exercise ON true
                 WHERE workout.user_id = ANY ($1) AND extract(day FROM workout.local_date)::bigint % 3 = $2
                 ON CONFLICT DO NOTHING",
                vec![Box::new(everybody), Box::new(i64::try_from(dice.below(3)).unwrap())],
            ),
            ChangeKind::BulkDelete => (
                "DELETE FROM public.workout_sets WHERE user_id = ANY ($1) AND (reps + position) % 5 = $2",
                vec![Box::new(everybody), Box::new(i32::try_from(dice.below(5)).unwrap())],
            ),
            ChangeKind::BulkMove => (
                "UPDATE public.workouts SET started_at = started_at + make_interval(days => $2)
                 WHERE user_id = $1 AND extract(month FROM local_date) = 2",
                vec![Box::new(user), Box::new(i32::try_from(1 + dice.below(9)).unwrap())],
            ),
            _ => self.attribute_statement(user, kind, dice),
        }
    }

    fn attribute_statement(&self, user: Uuid, kind: ChangeKind, dice: &mut Dice) -> (&'static str, Parameters) {
        let name = EXERCISES[usize::try_from(dice.below(4)).unwrap()];
        match kind {
            ChangeKind::ExerciseAttribute => (
                "UPDATE public.exercises SET implements = 3 - implements,
                    load_kind = CASE load_kind WHEN 'external' THEN 'bodyweight' ELSE 'external' END
                 WHERE user_id = $1 AND name = $2",
                vec![Box::new(user), Box::new(name)],
            ),
            ChangeKind::ExerciseName => (
                "UPDATE public.exercises SET name = CASE WHEN name LIKE '% II' THEN left(name, -3) ELSE name || ' II' END
                 WHERE user_id = $1 AND name LIKE $2 || '%' AND NOT EXISTS (
                    SELECT FROM public.exercises AS other
                    WHERE other.user_id = $1 AND other.name LIKE $2 || '%' AND other.id <> exercises.id)",
                vec![Box::new(user), Box::new(name)],
            ),
            // Only into an exercise that is itself not merged, from one that nothing is merged into: no circles.
            ChangeKind::Merge => (
                "UPDATE public.exercises AS merged
                 SET merged_into = CASE WHEN merged.merged_into IS NULL THEN (
                    SELECT target.id FROM public.exercises AS target
                    WHERE target.user_id = $1 AND target.merged_into IS NULL AND target.id <> merged.id
                    ORDER BY target.name LIMIT 1) END
                 WHERE merged.user_id = $1 AND merged.name = $2 AND NOT EXISTS (
                    SELECT FROM public.exercises AS other WHERE other.user_id = $1 AND other.merged_into = merged.id)",
                vec![Box::new(user), Box::new(name)],
            ),
            ChangeKind::Bodyweight => (
                "INSERT INTO public.bodyweight_log (user_id, measured_on, weight)
                 VALUES ($1, '2026-01-01'::date + $2::integer, 70 + $2::integer)
                 ON CONFLICT (user_id, measured_on) DO UPDATE SET weight = public.bodyweight_log.weight + 1",
                vec![Box::new(user), Box::new(i32::try_from(dice.below(60)).unwrap())],
            ),
            ChangeKind::Profile => (
                "INSERT INTO public.training_profiles AS profile (user_id, week_start, e1rm_formula)
                 VALUES ($1, $2::smallint, 'epley')
                 ON CONFLICT (user_id) DO UPDATE SET week_start = excluded.week_start,
                    e1rm_formula = CASE profile.e1rm_formula WHEN 'epley' THEN 'brzycki' ELSE 'epley' END",
                vec![Box::new(user), Box::new(i16::try_from(1 + dice.below(7)).unwrap())],
            ),
            _ => (
                "SELECT public.request_stats_refresh($1, $2)",
                vec![Box::new(self.users.to_vec()), Box::new(kind == ChangeKind::RequestRebuild)],
            ),
        }
    }

    /// One of the user's workouts, or one that is not there.
    async fn some_workout(&self, user: Uuid, dice: &mut Dice) -> Uuid {
        let query = "SELECT id FROM public.workouts WHERE user_id = $1 ORDER BY id";
        let rows = self.pipeline.admin.query(query, &[&user]).await.unwrap();
        let place = dice.below(rows.len() as u64 + 1);
        rows.get(usize::try_from(place).unwrap()).map_or(Uuid::from_u128(u128::MAX), |row| row.get(0))
    }
}

/// The name under which a change is counted.
pub(crate) fn name(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Save => "save",
        ChangeKind::SaveAgain => "save again",
        ChangeKind::Edit => "edit",
        ChangeKind::Delete => "delete",
        ChangeKind::BulkInsert => "bulk insert",
        ChangeKind::BulkDelete => "bulk delete",
        ChangeKind::BulkMove => "bulk move",
        ChangeKind::ExerciseAttribute => "attribute",
        ChangeKind::ExerciseName => "rename",
        ChangeKind::Merge => "merge",
        ChangeKind::Bodyweight => "bodyweight",
        ChangeKind::Profile => "profile",
        ChangeKind::RolledBack => "rolled back save",
        ChangeKind::RequestRefresh => "refresh requested",
        ChangeKind::RequestRebuild => "rebuild requested",
    }
}

/// A change of the source makes somebody stale above what was requested before; one that was rolled back leaves nothing.
fn must_be_marked(before: &Snapshot, after: &Snapshot, kind: ChangeKind) -> Result<(), String> {
    if kind == ChangeKind::RolledBack {
        let is_same = before.source == after.source && before.jobs.len() == after.jobs.len();
        return if is_same { Ok(()) } else { Err("a save that was rolled back has left something".to_owned()) };
    }
    let is_marked = after.states.iter().any(|(user, state)| {
        before.states.get(user).is_none_or(|old| state.requested > old.requested) && state.requested > state.applied
    });
    if is_marked || before.source == after.source {
        Ok(())
    } else {
        Err("a change of the source made nobody stale".to_owned())
    }
}
