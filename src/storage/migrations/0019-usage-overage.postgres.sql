-- `usage_waiting` with what has been added since: a view that the version before reads is not replaced. Further columns
-- can be added to this one at its end.
CREATE OR REPLACE VIEW usage_to_roll AS
SELECT u.trace_id, e.project_id, e.key_id, e.created_ms, e.day, e.status, e.resolved_model, e.provider, e.profile,
  e.cluster_id, e.session_id, e.duration_ms, e.ttft_ms, e.input_tokens, e.cached_tokens, e.written_tokens,
  e.output_tokens, e.reasoning_tokens, e.repeated_tokens_est, e.missed_reuse_tokens, e.charged_micros,
  e.direct_cost_micros, e.savings_micros, e.written_off_micros, e.overage_micros, e.waived_micros
FROM usage_unrolled u CROSS JOIN LATERAL (SELECT * FROM usage_event o WHERE o.trace_id = u.trace_id LIMIT 1) e;
