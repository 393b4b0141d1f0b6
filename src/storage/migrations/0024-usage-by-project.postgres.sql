CREATE OR REPLACE FUNCTION usage_event_unrolled() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN INSERT INTO usage_unrolled (trace_id, project_id) VALUES (NEW.trace_id, NEW.project_id); RETURN NULL; END';
-- `usage_to_roll` with whose each event is, as the line has it: `waiting_of` finds a project's lines by their index.
CREATE VIEW usage_to_roll_of AS
SELECT u.project_id AS waiting_of, u.trace_id, e.project_id, e.key_id, e.created_ms, e.day, e.status, e.resolved_model,
  e.provider, e.profile, e.cluster_id, e.session_id, e.duration_ms, e.ttft_ms, e.input_tokens, e.cached_tokens,
  e.written_tokens, e.output_tokens, e.reasoning_tokens, e.repeated_tokens_est, e.missed_reuse_tokens, e.charged_micros,
  e.direct_cost_micros, e.savings_micros, e.written_off_micros, e.overage_micros, e.waived_micros
FROM usage_unrolled u CROSS JOIN LATERAL (SELECT * FROM usage_event o WHERE o.trace_id = u.trace_id LIMIT 1) e;
