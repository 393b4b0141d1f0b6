-- What is too large to be written in one statement, such as a kept answer of megabytes: parts in rows of their own, each
-- written by itself, before the row that has them. Only the first says since when nobody has them.
CREATE TABLE large_body_part (
  parts_id       TEXT   NOT NULL,
  part           BIGINT NOT NULL,
  project_id     TEXT   NOT NULL,
  loose_since_ms BIGINT,
  sealed         BYTEA  NOT NULL,
  PRIMARY KEY (parts_id, part)
);
CREATE INDEX large_body_part_loose ON large_body_part (loose_since_ms) WHERE loose_since_ms IS NOT NULL;
ALTER TABLE idempotency ADD COLUMN parts_id TEXT;
ALTER TABLE idempotency ADD COLUMN parts_bytes BIGINT;
CREATE INDEX idempotency_large ON idempotency (expires_at) WHERE parts_id IS NOT NULL;
ALTER TABLE stored_response ADD COLUMN parts_id TEXT;
ALTER TABLE stored_response ADD COLUMN parts_bytes BIGINT;
