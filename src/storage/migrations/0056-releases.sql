-- §9.4: when an alias was pointed at which release, at which one before, and by whom. The newest thousand of an alias.
CREATE TABLE alias_activation (
  project_id          TEXT   NOT NULL REFERENCES project (id),
  alias_id            TEXT   NOT NULL,
  alias_name          TEXT   NOT NULL,
  release_id          TEXT   NOT NULL,
  previous_release_id TEXT,
  -- A key or a person.
  actor               TEXT,
  at_ms               BIGINT NOT NULL,
  sequence            BIGINT NOT NULL,
  PRIMARY KEY (project_id, alias_id, sequence)
);
CREATE INDEX alias_activation_by_time ON alias_activation (project_id, at_ms);

-- The views of pages that people keep, each their own.
CREATE TABLE saved_view (
  id         TEXT   PRIMARY KEY,
  project_id TEXT   NOT NULL REFERENCES project (id),
  -- A person, or a key.
  owner      TEXT   NOT NULL,
  page       TEXT   NOT NULL,
  name       TEXT   NOT NULL,
  query      TEXT   NOT NULL,
  created_at TEXT   NOT NULL,
  sequence   BIGINT NOT NULL,
  UNIQUE (project_id, owner, page, name)
);
