//! Everything that is published of one user, so that two users with the same history can be compared.

use serde_json::Value;
use tokio_postgres::Client;
use uuid::Uuid;

/// Leaves out what differs between two users with the same history: who they are, which generation wrote a row, and the
/// ids of their exercises, for which the names stand.
const FIGURES: &str = "
SELECT coalesce(jsonb_agg(listed.entry ORDER BY listed.entry::text), '[]')
FROM (
    SELECT to_jsonb(published) - '{user_id,generation,exercise_id}'::text[] || '{\"table\": \"stats\"}' AS entry
    FROM public.user_exercise_stats AS published
    WHERE published.user_id = $1
    UNION ALL
    SELECT to_jsonb(published) - '{user_id,generation,exercise_id}'::text[]
        || jsonb_build_object('table', 'rep_maxes', 'exercise', exercise.name)
    FROM public.user_exercise_rep_maxes AS published
    JOIN public.exercises AS exercise ON exercise.user_id = $1 AND exercise.id = published.exercise_id
    WHERE published.user_id = $1
    UNION ALL
    SELECT to_jsonb(published) - '{user_id,generation,exercise_id}'::text[]
        || jsonb_build_object('table', 'weekly', 'exercise', exercise.name)
    FROM public.user_exercise_stats_weekly AS published
    JOIN public.exercises AS exercise ON exercise.user_id = $1 AND exercise.id = published.exercise_id
    WHERE published.user_id = $1
    UNION ALL
    SELECT to_jsonb(published) - '{user_id,generation}'::text[] || '{\"table\": \"muscles\"}'
    FROM public.user_muscle_stats_weekly AS published
    WHERE published.user_id = $1
    UNION ALL
    SELECT to_jsonb(published) - '{user_id,generation}'::text[] || '{\"table\": \"summary\"}'
    FROM public.user_stats_summary AS published
    WHERE published.user_id = $1
) AS listed";

/// The published figures of `user` as one array in a fixed order; empty where nothing is published. `client` must be allowed
/// to read every table.
///
/// # Panics
/// When they cannot be read.
pub async fn figures(client: &Client, user: Uuid) -> Value {
    client.query_one(FIGURES, &[&user]).await.expect("the published tables can be read").get(0)
}
