-- R72, in usage that is added up.
ALTER TABLE usage_rollup ADD COLUMN overage_micros BIGINT NOT NULL DEFAULT 0;
