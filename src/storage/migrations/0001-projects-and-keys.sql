-- People own projects, projects own keys (§2.1, §5.8). Portable: TEXT, BIGINT, BYTEA; times that are shown are RFC 3339
-- texts in UTC, which compare as the instants they name.
CREATE TABLE person (
  id          TEXT PRIMARY KEY,
  email       TEXT NOT NULL UNIQUE,
  verified_at TEXT,
  created_at  TEXT NOT NULL
);

CREATE TABLE project (
  id         TEXT   PRIMARY KEY,
  name       TEXT   NOT NULL,
  owner_id   TEXT   NOT NULL REFERENCES person (id),
  created_at TEXT   NOT NULL,
  sequence   BIGINT NOT NULL
);

-- hash is the SHA-256 of the raw key, gone once the key is revoked (R7). origin is 'minted' for keys in our own form
-- and 'operator' for the bootstrap key, which may have any form (R5). sequence is the order of insertion (R11).
CREATE TABLE api_key (
  id            TEXT   PRIMARY KEY,
  project_id    TEXT   NOT NULL REFERENCES project (id),
  name          TEXT   NOT NULL,
  masked        TEXT   NOT NULL,
  hash          TEXT   UNIQUE,
  origin        TEXT   NOT NULL,
  scopes        TEXT   NOT NULL,
  status        TEXT   NOT NULL,
  created_at    TEXT   NOT NULL,
  sequence      BIGINT NOT NULL,
  last_used_at  TEXT,
  budget_micros BIGINT,
  spent_micros  BIGINT NOT NULL
);
CREATE INDEX api_key_by_project ON api_key (project_id, sequence);

-- Small facts about the store itself, such as the fingerprint of the secret it was sealed with.
CREATE TABLE setting (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
);
