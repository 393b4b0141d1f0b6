-- §8.2: the roll-ups of one key, without reading those of all others over the same days.
CREATE INDEX usage_rollup_by_key ON usage_rollup (key_id, cube, start_ms) WHERE key_id <> '';
