-- How many of a roll-up's events are in the finer ones as well. A version that does not keep those leaves it as it is.
ALTER TABLE usage_rollup ADD COLUMN finer_events BIGINT NOT NULL DEFAULT 0;
