-- What is listed is found at the heads of indexes; whatever the planner believes of tables that change by the second, no list
-- reads a whole one. Ends with the transaction.
SET LOCAL enable_seqscan = off;
SET LOCAL jit = off
