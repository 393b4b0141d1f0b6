-- §8.2.3: sums of each of thousands of keys over months, out of an index alone and in the order of keys: an embedded store
-- answers nobody else meanwhile. The rows themselves carry histograms, which sums do not ask for.
CREATE INDEX usage_rollup_sums_by_key ON usage_rollup (project_id, key_id, start_ms, events, input_tokens, cached_tokens,
    written_tokens, output_tokens, reasoning_tokens, repeated_tokens_est, missed_reuse_tokens, charged_micros,
    direct_cost_micros, savings_micros, written_off_micros, overage_micros, waived_micros)
  WHERE cube = 'day:key';
