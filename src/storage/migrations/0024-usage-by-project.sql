-- R78: whose events wait to be rolled up, so that one project's are found without reading another's.
ALTER TABLE usage_unrolled ADD COLUMN project_id TEXT;
UPDATE usage_unrolled SET project_id = (
  SELECT e.project_id FROM usage_event e WHERE e.trace_id = usage_unrolled.trace_id);
CREATE INDEX usage_unrolled_by_project ON usage_unrolled (project_id, trace_id);
-- Events that cannot be added up. They wait no longer and are in no roll-up; what they were charged is still known.
CREATE TABLE usage_quarantine (
  trace_id       TEXT   NOT NULL PRIMARY KEY,
  project_id     TEXT   NOT NULL,
  key_id         TEXT   NOT NULL,
  created_ms     BIGINT NOT NULL,
  charged_micros BIGINT NOT NULL,
  reason         TEXT   NOT NULL,
  set_aside_ms   BIGINT NOT NULL
);
CREATE INDEX usage_quarantine_by_project ON usage_quarantine (project_id, created_ms);
