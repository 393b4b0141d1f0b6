-- What decides where a request goes. Every write here also raises the project's routing_epoch, which each request
-- reads with its key: a process may keep what it knows of a project for as long as that number stands still.
ALTER TABLE project ADD COLUMN routing_epoch BIGINT NOT NULL DEFAULT 0;
ALTER TABLE project ADD COLUMN allowed_regions TEXT;
ALTER TABLE byoc_cluster ADD COLUMN telemetry TEXT;

CREATE TABLE agent_hints (
  id         TEXT   PRIMARY KEY,
  project_id TEXT   NOT NULL REFERENCES project (id),
  name       TEXT,
  hints      TEXT   NOT NULL,
  created_at TEXT   NOT NULL,
  sequence   BIGINT NOT NULL
);
CREATE INDEX agent_hints_by_project ON agent_hints (project_id, sequence);

-- R20 applies to the secret: sealed, never shown again.
CREATE TABLE provider_credential (
  id           TEXT   PRIMARY KEY,
  project_id   TEXT   NOT NULL REFERENCES project (id),
  provider     TEXT   NOT NULL,
  name         TEXT   NOT NULL,
  masked       TEXT   NOT NULL,
  base_url     TEXT,
  sealed       BYTEA,
  status       TEXT   NOT NULL,
  created_at   TEXT   NOT NULL,
  sequence     BIGINT NOT NULL,
  verified_at  TEXT
);
CREATE INDEX provider_credential_by_project ON provider_credential (project_id, sequence);

CREATE TABLE model_alias (
  id                 TEXT   PRIMARY KEY,
  project_id         TEXT   NOT NULL REFERENCES project (id),
  name               TEXT   NOT NULL,
  current_release_id TEXT   NOT NULL,
  created_at         TEXT   NOT NULL,
  updated_at         TEXT   NOT NULL,
  sequence           BIGINT NOT NULL,
  UNIQUE (project_id, name)
);

-- §9.4: immutable. version counts up within an alias.
CREATE TABLE alias_release (
  id         TEXT   PRIMARY KEY,
  project_id TEXT   NOT NULL REFERENCES project (id),
  alias_id   TEXT   NOT NULL,
  alias_name TEXT   NOT NULL,
  version    BIGINT NOT NULL,
  targets    TEXT   NOT NULL,
  created_at TEXT   NOT NULL,
  sequence   BIGINT NOT NULL,
  UNIQUE (alias_id, version)
);
CREATE INDEX alias_release_by_alias ON alias_release (project_id, alias_name, sequence);

CREATE TABLE subscription (
  id                 TEXT   PRIMARY KEY,
  project_id         TEXT   NOT NULL REFERENCES project (id),
  plan               TEXT   NOT NULL,
  provider           TEXT   NOT NULL,
  status             TEXT   NOT NULL,
  input_discount_pct BIGINT NOT NULL,
  allowance_tokens   BIGINT NOT NULL,
  used_tokens        BIGINT NOT NULL,
  period_start       TEXT   NOT NULL,
  period_end         TEXT   NOT NULL,
  overage_enabled    BIGINT NOT NULL,
  created_at         TEXT   NOT NULL,
  sequence           BIGINT NOT NULL
);
CREATE INDEX subscription_by_project ON subscription (project_id, sequence);
