-- What a key may have beyond the contract (R60 to R65): an end, a second secret for a while, lists of what it may use
-- and from where, a parent, a limit by the calendar. All of it is NULL or 0 where it is not used. Times are
-- milliseconds here, since every request compares them.
ALTER TABLE api_key ADD COLUMN expires_at BIGINT;
ALTER TABLE api_key ADD COLUMN previous_hash TEXT;
ALTER TABLE api_key ADD COLUMN previous_expires_at BIGINT;
ALTER TABLE api_key ADD COLUMN allowed_models TEXT;
ALTER TABLE api_key ADD COLUMN allowed_cidrs TEXT;

-- R64: a child's budget is part of what its parent and the project hold, until returned_at. open_children counts, on
-- the parent's own row, the children that have not given back yet.
ALTER TABLE api_key ADD COLUMN parent_id TEXT;
ALTER TABLE api_key ADD COLUMN returned_at BIGINT;
ALTER TABLE api_key ADD COLUMN open_children BIGINT NOT NULL DEFAULT 0;

-- R65: window_spent_micros is what was spent in the window that ends at window_ends_at; once that has passed, it is 0.
ALTER TABLE api_key ADD COLUMN window_period TEXT;
ALTER TABLE api_key ADD COLUMN window_limit_micros BIGINT;
ALTER TABLE api_key ADD COLUMN window_spent_micros BIGINT NOT NULL DEFAULT 0;
ALTER TABLE api_key ADD COLUMN window_ends_at BIGINT;

CREATE UNIQUE INDEX api_key_by_previous_hash ON api_key (previous_hash) WHERE previous_hash IS NOT NULL;
CREATE INDEX api_key_by_parent ON api_key (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX api_key_child_by_expiry ON api_key (project_id, expires_at)
  WHERE parent_id IS NOT NULL AND returned_at IS NULL;
