-- Providers that the operator added over the API, beside those of switchyard.yaml (decision 0343). entered is JSON, as it
-- was said and without secrets, which are sealed beside it. Removed, a provider is gone with its secrets; its versions
-- stay to be read.
CREATE TABLE operator_provider (
  id         TEXT   PRIMARY KEY,
  version    BIGINT NOT NULL,
  status     TEXT   NOT NULL,
  entered    TEXT   NOT NULL,
  sealed     BYTEA  NOT NULL,
  created_at TEXT   NOT NULL,
  updated_at TEXT   NOT NULL,
  updated_by TEXT   NOT NULL,
  sequence   BIGINT NOT NULL
);

-- Each change, numbered for its provider, and numbered for all of them (revision).
CREATE TABLE operator_provider_version (
  provider_id TEXT   NOT NULL,
  version     BIGINT NOT NULL,
  revision    BIGINT NOT NULL,
  change      TEXT   NOT NULL,
  fields      TEXT   NOT NULL,
  status      TEXT   NOT NULL,
  entered     TEXT   NOT NULL,
  actor       TEXT   NOT NULL,
  created_at  TEXT   NOT NULL,
  PRIMARY KEY (provider_id, version)
);
CREATE INDEX operator_provider_version_by_revision ON operator_provider_version (revision);

-- One row. Every change raises it first, so changes come one after the other; replicas look at it to learn of them.
CREATE TABLE operator_provider_revision (
  name     TEXT   PRIMARY KEY,
  revision BIGINT NOT NULL
);
INSERT INTO operator_provider_revision (name, revision) VALUES ('providers', 0);
