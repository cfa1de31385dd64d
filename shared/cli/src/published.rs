//! What is published of one user, as it stands in the tables.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tidemark_stats::DEFINITION_VERSION;
use tokio_postgres::Client;
use tokio_postgres::types::Type;
use uuid::Uuid;

use crate::refusal::explain;
use crate::statements::{PUBLISHED, PUBLISHED_NAMES};

/// Whether the figures are the newest there could be.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Freshness {
    /// Whether they are not.
    pub(crate) stale: bool,
    /// Since when, as far as the database knows.
    pub(crate) stale_since: Option<String>,
    /// Why.
    pub(crate) stale_because: Option<StaleBecause>,
}

/// Why figures are not the newest there could be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StaleBecause {
    /// Something was saved and waits.
    Save,
    /// They were computed by older formulas than the newest.
    Definition,
}

/// Rows are kept as the database wrote them: a figure that passed through a float would no longer be exact.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Published {
    /// Whose.
    pub(crate) user_id: Uuid,
    /// Whether the rest is the newest there could be, and if not, why.
    #[serde(flatten)]
    pub(crate) freshness: Freshness,
    /// What depends on today, and the totals.
    pub(crate) user_stats_overview: Option<Box<RawValue>>,
    /// The user's one row; none before the first publish.
    pub(crate) user_stats_summary: Option<Box<RawValue>>,
    /// One row per exercise, by name.
    pub(crate) user_exercise_stats: Vec<Box<RawValue>>,
    /// One row per exercise and number of repetitions.
    pub(crate) user_exercise_rep_maxes: Vec<Box<RawValue>>,
    /// One row per exercise and week, oldest first.
    pub(crate) user_exercise_stats_weekly: Vec<Box<RawValue>>,
    /// One row per muscle and week, oldest first; none where one exercise was asked for.
    pub(crate) user_muscle_stats_weekly: Vec<Box<RawValue>>,
}

impl Published {
    /// Reads everything of `user`, or of one exercise, in one statement. `None` where nobody knows the user.
    pub(crate) async fn read(client: &Client, user: Uuid, exercise: Option<&str>) -> anyhow::Result<Option<Self>> {
        let parameters =
            [(&user as _, Type::UUID), (&exercise as _, Type::TEXT), (&DEFINITION_VERSION as _, Type::INT4)];
        let rows = client.query_typed(PUBLISHED, &parameters).await.map_err(explain)?;
        if rows.is_empty() {
            return Ok(None);
        }
        let mut published = Self { user_id: user, ..Self::default() };
        for row in rows {
            published.take(row.try_get(0)?, row.try_get(1)?)?;
        }
        Ok(Some(published))
    }

    /// Whether there is no row of any exercise.
    pub(crate) fn has_no_exercise(&self) -> bool {
        self.user_exercise_stats.is_empty()
    }

    /// Every name of an exercise of `user`, with the one under which its figures are published.
    pub(crate) async fn names(client: &Client, user: Uuid) -> anyhow::Result<Vec<(String, String)>> {
        let rows = client.query_typed(PUBLISHED_NAMES, &[(&user as _, Type::UUID)]).await.map_err(explain)?;
        let mut names = Vec::new();
        for row in rows {
            let (name, merged): (String, Option<String>) = (row.try_get(0)?, row.try_get(1)?);
            names.extend(merged.map(|merged| (merged, name.clone())));
            names.push((name.clone(), name));
        }
        Ok(names)
    }

    fn take(&mut self, name: &str, content: String) -> anyhow::Result<()> {
        if name == "freshness" {
            self.freshness = serde_json::from_str(&content)?;
            return Ok(());
        }
        let row = RawValue::from_string(content)?;
        match name {
            "user_stats_overview" => self.user_stats_overview = Some(row),
            "user_stats_summary" => self.user_stats_summary = Some(row),
            "user_exercise_stats" => self.user_exercise_stats.push(row),
            "user_exercise_rep_maxes" => self.user_exercise_rep_maxes.push(row),
            "user_muscle_stats_weekly" => self.user_muscle_stats_weekly.push(row),
            _ => self.user_exercise_stats_weekly.push(row),
        }
        Ok(())
    }
}
