-- `usage_waiting` with what has been added since, and will be: a view that the version before reads cannot be replaced.
CREATE VIEW IF NOT EXISTS usage_to_roll AS
SELECT e.* FROM usage_unrolled u CROSS JOIN usage_event e WHERE e.trace_id = u.trace_id;
