-- What calls are filed under (Agent-Tags, metadata, user, safety_identifier). The event has them as JSON, to be shown;
-- usage_tag has one row for each, to filter and group by. Calls without tags have neither.
ALTER TABLE usage_event ADD COLUMN tags TEXT;
CREATE TABLE usage_tag (
  trace_id   TEXT   NOT NULL,
  name       TEXT   NOT NULL,
  value      TEXT   NOT NULL,
  project_id TEXT   NOT NULL,
  created_ms BIGINT NOT NULL,
  PRIMARY KEY (trace_id, name)
);
CREATE INDEX usage_tag_by_time ON usage_tag (project_id, created_ms);

-- R70: the different tags that a project has used; beyond a bound, further values are one.
CREATE TABLE project_tag (
  project_id TEXT   NOT NULL,
  name       TEXT   NOT NULL,
  value      TEXT   NOT NULL,
  first_ms   BIGINT NOT NULL,
  PRIMARY KEY (project_id, name, value)
);
CREATE INDEX project_tag_by_time ON project_tag (first_ms);
ALTER TABLE project ADD COLUMN tag_count BIGINT NOT NULL DEFAULT 0;

-- R43: a limit on what calls with a tag may spend, kept by holds as a key's is.
CREATE TABLE tag_budget (
  id           TEXT   PRIMARY KEY,
  project_id   TEXT   NOT NULL REFERENCES project (id),
  name         TEXT   NOT NULL,
  value        TEXT   NOT NULL,
  limit_micros BIGINT NOT NULL,
  spent_micros BIGINT NOT NULL DEFAULT 0,
  held_micros  BIGINT NOT NULL DEFAULT 0,
  created_at   TEXT   NOT NULL,
  sequence     BIGINT NOT NULL,
  UNIQUE (project_id, name, value)
);
CREATE INDEX tag_budget_by_project ON tag_budget (project_id, sequence);

-- Which budgets a hold is taken from, beside its key's and its project's.
CREATE TABLE tag_hold (
  hold_id    TEXT   NOT NULL,
  budget_id  TEXT   NOT NULL,
  project_id TEXT   NOT NULL,
  micros     BIGINT NOT NULL,
  PRIMARY KEY (hold_id, budget_id)
);
CREATE INDEX tag_hold_by_budget ON tag_hold (budget_id);
