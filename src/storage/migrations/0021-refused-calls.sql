-- R80: generations that were refused before they left a usage event. Written in bulk, a few seconds late: of equal
-- refusals the first of each minute, with how many there were. Swept after 30 days.
CREATE TABLE refused_call (
  trace_id   TEXT   PRIMARY KEY,
  project_id TEXT   NOT NULL,
  key_id     TEXT   NOT NULL,
  kind       TEXT   NOT NULL,
  at_ms      BIGINT NOT NULL,
  model      TEXT,
  count      BIGINT NOT NULL,
  detail     TEXT   NOT NULL
);
CREATE INDEX refused_call_by_project ON refused_call (project_id, at_ms);
CREATE INDEX refused_call_by_time ON refused_call (at_ms);
