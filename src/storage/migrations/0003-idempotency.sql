-- §11, R20. A row is free to take once expires_at has passed: 60 s after a handler that then died last renewed it, or
-- 24 h after its response was kept. digest is SHA-256 of (project, path, key): the key itself is not stored, and the
-- response is sealed under it, so this table gives away neither.
CREATE TABLE idempotency (
  digest     TEXT   PRIMARY KEY,
  state      TEXT   NOT NULL,
  owner      TEXT   NOT NULL,
  process    TEXT   NOT NULL,
  expires_at BIGINT NOT NULL,
  sealed     BYTEA
);
CREATE INDEX idempotency_by_expiry ON idempotency (expires_at);
CREATE INDEX idempotency_by_process ON idempotency (process) WHERE state = 'held';
