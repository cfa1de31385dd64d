//! The staged document: what a compute hands to its publish.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::civil::Date;
use serde::Serialize;
use tidemark_stats::{
    Exercise, ExerciseStats, ExerciseWeek, Muscle, MuscleWeek, Projections, RepMax, Summary, muscles_of,
};
use uuid::Uuid;

use crate::source::Dirty;

/// Field names are those of the published tables. `exercise_ids` and `muscle_names` say for which exercises and muscles the
/// rows speak: what is published for one of them and not listed here has vanished. `None`: for every one.
#[derive(Debug, Serialize)]
pub(crate) struct Document {
    exercise_ids: Option<Vec<Uuid>>,
    muscle_names: Option<Vec<Muscle>>,
    exercises: Vec<ExerciseStats>,
    rep_maxes: Vec<RepMax>,
    weekly: Vec<ExerciseWeek>,
    /// By week, so that a publish need not read those in which nothing changed.
    muscles: BTreeMap<Date, Vec<MuscleWeek>>,
    summary: Summary,
}

impl Document {
    /// The part of `projections` that `dirty` names. The summary is always part of it.
    pub(crate) fn new(projections: Projections, dirty: &Dirty, exercises: &[Exercise]) -> Self {
        let Projections { exercises: stats, rep_maxes, weekly, muscles, summary } = projections;
        let Dirty::Exercises(marked) = dirty else {
            return Self {
                exercise_ids: None,
                muscle_names: None,
                exercises: stats,
                rep_maxes,
                weekly,
                muscles: by_week(muscles),
                summary,
            };
        };
        let spoken_for = with_merge_targets(marked, exercises);
        let worked = worked_muscles(&spoken_for, exercises);
        Self {
            exercises: stats.into_iter().filter(|row| spoken_for.contains(&row.exercise_id)).collect(),
            rep_maxes: rep_maxes.into_iter().filter(|row| spoken_for.contains(&row.exercise_id)).collect(),
            weekly: weekly.into_iter().filter(|row| spoken_for.contains(&row.exercise_id)).collect(),
            muscles: by_week(
                muscles.into_iter().filter(|row| worked.as_ref().is_none_or(|worked| worked.contains(&row.muscle))),
            ),
            summary,
            exercise_ids: Some(spoken_for.into_iter().collect()),
            muscle_names: worked.map(|worked| worked.into_iter().collect()),
        }
    }
}

fn by_week(muscles: impl IntoIterator<Item = MuscleWeek>) -> BTreeMap<Date, Vec<MuscleWeek>> {
    let mut weeks = BTreeMap::<Date, Vec<MuscleWeek>>::new();
    for row in muscles {
        weeks.entry(row.week_start).or_default().push(row);
    }
    weeks
}

/// The muscles that these exercises work. `None` where one of them is gone: nobody knows any more which muscles it worked, so
/// that it may be any.
fn worked_muscles(spoken_for: &HashSet<Uuid>, exercises: &[Exercise]) -> Option<HashSet<Muscle>> {
    let names: HashMap<Uuid, &str> = exercises.iter().map(|exercise| (exercise.id, exercise.name.as_str())).collect();
    let worked = spoken_for.iter().map(|id| names.get(id).map(|name| muscles_of(name).all()));
    worked.collect::<Option<Vec<_>>>().map(|worked| worked.into_iter().flatten().collect())
}

/// A change of a merged exercise changes the rows of the exercise it counts under.
fn with_merge_targets(marked: &[Uuid], exercises: &[Exercise]) -> HashSet<Uuid> {
    let targets: HashMap<Uuid, Uuid> =
        exercises.iter().filter_map(|exercise| Some((exercise.id, exercise.merged_into?))).collect();
    let mut spoken_for = HashSet::new();
    for &start in marked {
        let mut current = Some(start);
        // Ends at the end of the chain, and in a circle at the first exercise seen twice.
        while let Some(id) = current.filter(|id| spoken_for.insert(*id)) {
            current = targets.get(&id).copied();
        }
    }
    spoken_for
}
