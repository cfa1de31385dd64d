//! The staged document: what a compute hands to its publish.

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use tidemark_stats::{Exercise, ExerciseStats, ExerciseWeek, Projections, RepMax, Summary};
use uuid::Uuid;

use crate::source::Dirty;

/// Field names are those of the published tables. `exercise_ids` says which exercises the rows speak for: what is published
/// for one of them and not listed here has vanished. `None`: for every exercise.
#[derive(Debug, Serialize)]
pub(crate) struct Document {
    exercise_ids: Option<Vec<Uuid>>,
    exercises: Vec<ExerciseStats>,
    rep_maxes: Vec<RepMax>,
    weekly: Vec<ExerciseWeek>,
    summary: Summary,
}

impl Document {
    /// The part of `projections` that `dirty` names. The summary is always part of it.
    pub(crate) fn new(projections: Projections, dirty: &Dirty, exercises: &[Exercise]) -> Self {
        let Projections { exercises: stats, rep_maxes, weekly, summary } = projections;
        let Dirty::Exercises(marked) = dirty else {
            return Self { exercise_ids: None, exercises: stats, rep_maxes, weekly, summary };
        };
        let spoken_for = with_merge_targets(marked, exercises);
        Self {
            exercises: stats.into_iter().filter(|row| spoken_for.contains(&row.exercise_id)).collect(),
            rep_maxes: rep_maxes.into_iter().filter(|row| spoken_for.contains(&row.exercise_id)).collect(),
            weekly: weekly.into_iter().filter(|row| spoken_for.contains(&row.exercise_id)).collect(),
            summary,
            exercise_ids: Some(spoken_for.into_iter().collect()),
        }
    }
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
