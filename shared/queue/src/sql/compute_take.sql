SELECT taken.outcome, taken.run_id, taken.user_id, taken.attempt, taken.generation, taken.lease_token, taken.budget_ms
FROM tidemark.compute_take_v1($1, $2, $3) AS taken
