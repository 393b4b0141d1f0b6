-- R72: with overage a cap refuses nothing, and what is above it is counted.
ALTER TABLE project ADD COLUMN overage_enabled BIGINT NOT NULL DEFAULT 0;
ALTER TABLE usage_event ADD COLUMN overage_micros BIGINT NOT NULL DEFAULT 0;

-- R73: whether calls may leave the project's own capacity; an alias may say otherwise for itself.
ALTER TABLE project ADD COLUMN boundary TEXT NOT NULL DEFAULT 'own_first';
ALTER TABLE model_alias ADD COLUMN boundary TEXT;

-- R73: refusals in a row, counted for all replicas together.
ALTER TABLE provider_credential ADD COLUMN refusals BIGINT NOT NULL DEFAULT 0;
UPDATE provider_credential SET status = 'refused' WHERE status = 'invalid';

-- R73: what a cluster served last, also while it is away. JSON.
ALTER TABLE byoc_cluster ADD COLUMN served_models TEXT;
