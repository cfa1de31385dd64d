//! Published statistics as tables for people, no wider than 80 columns. Rounding happens here and nowhere else.

mod exercise;
mod figures;
mod muscles;
mod person;
mod rows;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::published::{Published, StaleBecause};
use crate::stats_screen::rows::{Exercise, MuscleWeek, Overview, RepMax, Summary, Week};
use crate::status_screen::readable_time;

/// The whole screen; of one exercise with its rep maxima, its estimates over time and its latest weeks.
pub(crate) fn draw(published: &Published, one_exercise: bool) -> anyhow::Result<String> {
    let overview: Option<Overview> = row(published.user_stats_overview.as_deref())?;
    let summary: Option<Summary> = row(published.user_stats_summary.as_deref())?;
    let mut parts = vec![heading(published, overview.as_ref())];
    let Some((overview, summary)) = overview.zip(summary) else {
        parts.push("Nothing is published yet.".to_owned());
        return Ok(parts.join("\n\n"));
    };
    let exercises: Vec<Exercise> = rows(&published.user_exercise_stats)?;
    if one_exercise {
        let rep_maxes: Vec<RepMax> = rows(&published.user_exercise_rep_maxes)?;
        let weeks: Vec<Week> = rows(&published.user_exercise_stats_weekly)?;
        // Two names that differ in case only are two exercises.
        parts
            .extend(exercises.iter().map(|exercise| exercise::draw(exercise, &rep_maxes, &weeks, overview.week_start)));
    } else {
        let weeks: Vec<MuscleWeek> = rows(&published.user_muscle_stats_weekly)?;
        parts.push(person::draw_overview(&overview));
        parts.push(person::draw_totals(&summary));
        parts.extend(muscles::draw(&weeks, overview.week_start)?);
        parts.extend(person::draw_exercises(exercises));
    }
    Ok(parts.join("\n\n"))
}

/// Whose, and how old.
fn heading(published: &Published, overview: Option<&Overview>) -> String {
    let freshness = &published.freshness;
    let since = freshness.stale_since.as_deref().map(|since| format!(" since {}", readable_time(since)));
    let since = since.unwrap_or_default();
    let age = match freshness.stale_because {
        Some(StaleBecause::Save) => {
            format!("STALE{since}: something newer waits to be published.\n`tidemark status` says what holds it up.")
        }
        Some(StaleBecause::Definition) => format!(
            "STALE{since}: computed by older formulas than the newest.\n\
             `tidemark status` shows the rebuild; `tidemark refresh rebuild` starts one."
        ),
        None => overview.and_then(|overview| overview.published_at.as_deref()).map_or_else(
            || "Fresh: nothing waits to be published.".to_owned(),
            |at| format!("Fresh: published {}.", readable_time(at)),
        ),
    };
    format!("User {}\n{age}", published.user_id)
}

fn row<T: DeserializeOwned>(row: Option<&RawValue>) -> serde_json::Result<Option<T>> {
    row.map(|row| serde_json::from_str(row.get())).transpose()
}

fn rows<T: DeserializeOwned>(rows: &[Box<RawValue>]) -> serde_json::Result<Vec<T>> {
    rows.iter().map(|row| serde_json::from_str(row.get())).collect()
}

#[cfg(test)]
mod tests;
