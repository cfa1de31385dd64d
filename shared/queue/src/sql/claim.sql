SELECT result.outcome, result.claimed, result.recovered, result.absorbed, result.exhausted, result.slots_full
FROM tidemark.claim_v1($1, $2) AS result
