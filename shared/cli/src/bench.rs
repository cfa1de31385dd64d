//! Measuring: a durable server of its own for each goal, and the real handlers.

mod backlog;
mod idle_tick;
mod import;
mod jobs;
mod latency;
mod publish;
mod status_document;

use std::time::Duration;

use serde::Serialize;
use tabled::builder::Builder;
use tabled::settings::object::Columns;
use tabled::settings::{Modify, Style, Width};

use crate::database::Database;

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Enough to see whether something is off by a factor.
    Quick,
    /// What docs/PERFORMANCE.md states.
    Full,
}

impl Scale {
    /// One amount for each scale.
    pub(crate) fn pick<T>(self, quick: T, full: T) -> T {
        match self {
            Self::Quick => quick,
            Self::Full => full,
        }
    }
}

/// One measured figure beside its goal.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Goal {
    id: String,
    value: f64,
    unit: &'static str,
    goal: String,
    met: bool,
    detail: String,
}

impl Goal {
    /// A figure that must not exceed `limit`.
    pub(crate) fn at_most(id: &str, value: f64, unit: &'static str, limit: f64, detail: String) -> Self {
        Self { id: id.to_owned(), value, unit, goal: format!("≤ {limit} {unit}"), met: value <= limit, detail }
    }

    /// A figure that must reach `least`.
    pub(crate) fn at_least(id: &str, value: f64, unit: &'static str, least: f64, detail: String) -> Self {
        Self { id: id.to_owned(), value, unit, goal: format!("≥ {least} {unit}"), met: value >= least, detail }
    }

    /// The figures as a table.
    pub(crate) fn table(goals: &[Self]) -> String {
        let mut builder = Builder::default();
        builder.push_record(["goal", "measured", "wanted", "met", "what"]);
        for goal in goals {
            builder.push_record([
                goal.id.clone(),
                format!("{:.2} {}", goal.value, goal.unit),
                goal.goal.clone(),
                if goal.met { "yes" } else { "no" }.to_owned(),
                goal.detail.clone(),
            ]);
        }
        // The last column tells what was measured, in sentences.
        let prose = Modify::new(Columns::last()).with(Width::wrap(80).keep_words(true));
        builder.build().with(Style::sharp()).with(prose).to_string()
    }
}

impl std::fmt::Display for Goal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "  {}: {:.2} {} ({})", self.id, self.value, self.unit, self.detail)
    }
}

/// Where measuring happens, and how much of it.
pub(crate) struct Laboratory {
    scale: Scale,
}

impl Laboratory {
    /// The goals that can be measured, by the names of docs/PERFORMANCE.md.
    pub(crate) const GOALS: &'static [&'static str] =
        &["P1", "P2", "P3", "P4", "P5", "P7", "P8", "P9", "P10", "P11", "import"];

    /// Measures as much as `scale` says.
    pub(crate) fn new(scale: Scale) -> Self {
        Self { scale }
    }

    /// Measures one goal on a server of its own, so that none finds another's caches or dead rows.
    pub(crate) async fn measure(&self, id: &str) -> anyhow::Result<Vec<Goal>> {
        let folder = tempfile::tempdir()?;
        let database = Database::fresh_in(folder.path()).await?;
        match id {
            "P1" => jobs::drain(&database, self.scale).await,
            "P2" => jobs::held_snapshot(&database, self.scale).await,
            "P3" => jobs::single(&database, self.scale).await,
            "P4" => jobs::enqueue(&database, self.scale).await,
            "P5" => idle_tick::measure(&database, self.scale).await,
            "P7" => latency::measure(&database, self.scale).await,
            "P8" | "P9" => publish::measure(&database, self.scale, id).await,
            "P10" => backlog::measure(&database, self.scale).await,
            "import" => import::measure(&database, self.scale).await,
            _ => status_document::measure(&database, self.scale).await,
        }
    }
}

/// The `share` quantile of the durations, in milliseconds. Zero where there are none.
pub(crate) fn quantile_ms(durations: &mut [Duration], share: f64) -> f64 {
    durations.sort_unstable();
    let last = durations.len().saturating_sub(1);
    // Nearest rank; the casts stay far below the precision of a double.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let place = (last as f64 * share).round() as usize;
    durations.get(place).map_or(0.0, |duration| duration.as_secs_f64() * 1_000.0)
}
