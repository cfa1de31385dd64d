//! Exercises with their merges resolved, in the order of their ids.

use std::collections::HashMap;

use rust_decimal::Decimal;
use uuid::Uuid;

use crate::history::{Exercise, InvalidHistory, LoadKind};
use crate::mass::divide_half_even;

/// Decimals to which a bodyweight share is read.
const SHARE_DECIMALS: u32 = 9;

/// An exercise ready for the hot loop: its share is an integer.
#[derive(Debug)]
pub(crate) struct CatalogueEntry<'h> {
    pub(crate) exercise: &'h Exercise,
    pub(crate) load: LoadKind,
    pub(crate) share_billionths: i128,
    pub(crate) implements: i32,
    /// 2 where repetitions are written for one side, else 1.
    pub(crate) sides: i32,
}

/// The exercises of a history, by id.
#[derive(Debug)]
pub(crate) struct Catalogue<'h> {
    /// In the order of the exercises' ids.
    pub(crate) entries: Vec<CatalogueEntry<'h>>,
    /// For every exercise of the history, the entry under which its sets count.
    targets: Vec<u32>,
}

impl<'h> Catalogue<'h> {
    pub(crate) fn of(exercises: &'h [Exercise]) -> Result<Self, InvalidHistory> {
        let mut entries = exercises.iter().map(entry).collect::<Result<Vec<_>, _>>()?;
        entries.sort_by_key(|entry| entry.exercise.id);
        let mut places = HashMap::with_capacity(entries.len());
        for (place, entry) in entries.iter().enumerate() {
            let place = u32::try_from(place).map_err(|_| InvalidHistory::TooManyRows)?;
            if places.insert(entry.exercise.id, place).is_some() {
                return Err(InvalidHistory::DuplicateExercise { exercise: entry.exercise.id });
            }
        }
        let targets = exercises
            .iter()
            .map(|exercise| final_target(exercise, &entries, &places))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self { entries, targets })
    }

    /// The place in `entries` under which the sets of the exercise at `index` of the history count.
    pub(crate) fn target(&self, index: u32) -> Option<u32> {
        self.targets.get(index as usize).copied()
    }
}

fn entry(exercise: &Exercise) -> Result<CatalogueEntry<'_>, InvalidHistory> {
    if exercise.bodyweight_share < Decimal::ZERO || exercise.bodyweight_share > Decimal::ONE {
        return Err(InvalidHistory::BodyweightShare { exercise: exercise.id });
    }
    if !matches!(exercise.implements, 1 | 2) {
        return Err(InvalidHistory::Implements { exercise: exercise.id });
    }
    let share = exercise.bodyweight_share.normalize();
    let share_billionths = match share.scale().checked_sub(SHARE_DECIMALS) {
        Some(surplus) => divide_half_even(share.mantissa(), 10_i128.pow(surplus)),
        None => share.mantissa() * 10_i128.pow(SHARE_DECIMALS - share.scale()),
    };
    Ok(CatalogueEntry {
        exercise,
        load: exercise.load,
        share_billionths,
        implements: i32::from(exercise.implements),
        sides: if exercise.per_side { 2 } else { 1 },
    })
}

/// Follows merges to their end. A path longer than there are exercises has been somewhere twice.
fn final_target(
    exercise: &Exercise,
    entries: &[CatalogueEntry<'_>],
    places: &HashMap<Uuid, u32>,
) -> Result<u32, InvalidHistory> {
    let (mut source, mut id) = (exercise.id, exercise.id);
    for _ in 0..=entries.len() {
        let place = *places.get(&id).ok_or(InvalidHistory::UnknownMergeTarget { exercise: source, target: id })?;
        match entries[place as usize].exercise.merged_into {
            Some(next) => (source, id) = (id, next),
            None => return Ok(place),
        }
    }
    Err(InvalidHistory::MergeCycle { exercise: exercise.id })
}
