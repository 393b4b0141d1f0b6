-- Events that no roll-up has in it yet. CROSS JOIN: the short list first, then each event by its id.
CREATE VIEW usage_waiting AS
SELECT u.trace_id, e.project_id, e.key_id, e.created_ms, e.day, e.status, e.resolved_model, e.provider, e.profile,
  e.cluster_id, e.session_id, e.duration_ms, e.ttft_ms, e.input_tokens, e.cached_tokens, e.written_tokens,
  e.output_tokens, e.reasoning_tokens, e.repeated_tokens_est, e.missed_reuse_tokens, e.charged_micros,
  e.direct_cost_micros, e.savings_micros, e.written_off_micros
FROM usage_unrolled u CROSS JOIN usage_event e WHERE e.trace_id = u.trace_id;
