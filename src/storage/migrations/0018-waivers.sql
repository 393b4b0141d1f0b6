-- R71: what deadlines have made free of charge, by project and day. One row carries it, as it does the limits: whoever
-- waives raises it by a conditional update. A day that has passed is overwritten by the next.
ALTER TABLE project ADD COLUMN waived_day TEXT;
ALTER TABLE project ADD COLUMN waived_micros BIGINT NOT NULL DEFAULT 0;
ALTER TABLE usage_event ADD COLUMN waived_micros BIGINT NOT NULL DEFAULT 0;
ALTER TABLE usage_rollup ADD COLUMN waived_micros BIGINT NOT NULL DEFAULT 0;

-- R77: 1 where the tokens were counted here, because the upstream told nothing, or what cannot be.
ALTER TABLE usage_event ADD COLUMN tokens_estimated BIGINT NOT NULL DEFAULT 0;
