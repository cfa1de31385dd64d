//! Muscles, and which of them an exercise works.
//!
//! An exercise is recognised by its name: in the committed catalogue, or by an alias of one there. Names are compared in lower
//! case with everything but letters and digits read as one space. An unknown name is an exercise of its own without muscles.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Serialize;

use crate::names::written_names;

/// Name, primary muscles and secondary muscles of each exercise.
const CATALOGUE: &str = include_str!("../data/catalogue.tsv");
/// Alias, and the name in the catalogue.
const ALIASES: &str = include_str!("../data/aliases.tsv");

/// How many muscles there are.
pub(crate) const MUSCLES: usize = 17;

/// A muscle or group of muscles, as the catalogue tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(into = "&'static str")]
#[allow(missing_docs)]
pub enum Muscle {
    Abdominals,
    Abductors,
    Adductors,
    Biceps,
    Calves,
    Chest,
    Forearms,
    Glutes,
    Hamstrings,
    Lats,
    LowerBack,
    MiddleBack,
    Neck,
    Quadriceps,
    Shoulders,
    Traps,
    Triceps,
}

written_names!(Muscle, "a muscle of the catalogue",
    Abdominals => "abdominals", Abductors => "abductors", Adductors => "adductors", Biceps => "biceps", Calves => "calves",
    Chest => "chest", Forearms => "forearms", Glutes => "glutes", Hamstrings => "hamstrings", Lats => "lats",
    LowerBack => "lower back", MiddleBack => "middle back", Neck => "neck", Quadriceps => "quadriceps",
    Shoulders => "shoulders", Traps => "traps", Triceps => "triceps");

impl From<Muscle> for &'static str {
    fn from(muscle: Muscle) -> Self {
        muscle.as_str()
    }
}

impl Muscle {
    /// Every muscle, in the order of their names.
    pub const ALL: [Self; MUSCLES] = [
        Self::Abdominals,
        Self::Abductors,
        Self::Adductors,
        Self::Biceps,
        Self::Calves,
        Self::Chest,
        Self::Forearms,
        Self::Glutes,
        Self::Hamstrings,
        Self::Lats,
        Self::LowerBack,
        Self::MiddleBack,
        Self::Neck,
        Self::Quadriceps,
        Self::Shoulders,
        Self::Traps,
        Self::Triceps,
    ];
}

/// What an exercise works. No muscle is in both lists or twice in one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkedMuscles {
    /// Those it is done for: a set counts 1 for each.
    pub primary: Vec<Muscle>,
    /// Those that help: a set counts ½ for each.
    pub secondary: Vec<Muscle>,
}

impl WorkedMuscles {
    /// Primary and secondary muscles.
    pub fn all(&self) -> impl Iterator<Item = Muscle> {
        self.primary.iter().chain(&self.secondary).copied()
    }
}

/// The muscles that the exercise of this name works; none for a name that neither the catalogue nor the aliases know.
pub fn muscles_of(exercise_name: &str) -> &'static WorkedMuscles {
    static UNKNOWN: WorkedMuscles = WorkedMuscles { primary: Vec::new(), secondary: Vec::new() };
    BY_NAME.get(&compared(exercise_name)).map_or(&UNKNOWN, |&place| &EXERCISES[place].1)
}

/// The exercises of the catalogue with their names as compared.
static EXERCISES: LazyLock<Vec<(String, WorkedMuscles)>> = LazyLock::new(|| {
    let fields = CATALOGUE.lines().filter_map(|line| line.split_once('\t'));
    fields
        .filter_map(|(name, muscles)| {
            let (primary, secondary) = muscles.split_once('\t')?;
            Some((compared(name), WorkedMuscles { primary: muscles_in(primary), secondary: muscles_in(secondary) }))
        })
        .collect()
});

/// The place in [`EXERCISES`] of every name and alias as compared.
static BY_NAME: LazyLock<HashMap<String, usize>> = LazyLock::new(|| {
    let mut places =
        EXERCISES.iter().enumerate().map(|(place, (name, _))| (name.clone(), place)).collect::<HashMap<_, _>>();
    for (alias, name) in ALIASES.lines().filter_map(|line| line.split_once('\t')) {
        if let Some(&place) = places.get(&compared(name)) {
            places.entry(compared(alias)).or_insert(place);
        }
    }
    places
});

fn muscles_in(field: &str) -> Vec<Muscle> {
    field.split(',').filter_map(|name| name.parse().ok()).collect()
}

/// Lower case, everything but letters and digits read as one space, none at either end.
fn compared(name: &str) -> String {
    let lower = name.to_lowercase();
    lower.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_line_of_the_catalogue_is_read_and_every_alias_leads_to_one() {
        assert_eq!(CATALOGUE.lines().count(), 873);
        assert_eq!(EXERCISES.len(), 873);
        assert_eq!(BY_NAME.len(), 873 + ALIASES.lines().count(), "no name or alias is there twice, none leads nowhere");
        for line in CATALOGUE.lines() {
            let fields = line.split('\t').collect::<Vec<_>>();
            let listed = fields[1..].iter().flat_map(|field| field.split(',')).filter(|name| !name.is_empty());
            let worked = muscles_of(fields[0]);
            assert_eq!(
                listed.collect::<Vec<_>>(),
                worked.all().map(Muscle::as_str).collect::<Vec<_>>(),
                "{}: a name that is no muscle would be lost",
                fields[0]
            );
            assert!(!worked.primary.is_empty());
            assert_eq!(worked.all().collect::<HashSet<_>>().len(), worked.all().count(), "{}", fields[0]);
        }
    }

    #[test]
    fn muscles_are_listed_in_the_order_of_their_names() {
        let names = Muscle::ALL.map(Muscle::as_str);
        assert!(names.is_sorted());
        assert!(Muscle::ALL.iter().enumerate().all(|(place, &muscle)| place == muscle as usize));
    }
}
