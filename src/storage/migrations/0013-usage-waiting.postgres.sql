-- Events that no roll-up has in it yet. LIMIT: each is looked up by its id. Left to choose, the planner goes by what it
-- last knew of a list that is long one minute and empty the next, and may read all events to find a few.
CREATE VIEW usage_waiting AS
SELECT u.trace_id, e.project_id, e.key_id, e.created_ms, e.day, e.status, e.resolved_model, e.provider, e.profile,
  e.cluster_id, e.session_id, e.duration_ms, e.ttft_ms, e.input_tokens, e.cached_tokens, e.written_tokens,
  e.output_tokens, e.reasoning_tokens, e.repeated_tokens_est, e.missed_reuse_tokens, e.charged_micros,
  e.direct_cost_micros, e.savings_micros, e.written_off_micros
FROM usage_unrolled u CROSS JOIN LATERAL (SELECT * FROM usage_event o WHERE o.trace_id = u.trace_id LIMIT 1) e;
