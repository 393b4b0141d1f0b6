-- The keys of replay runs, for as long as their usage events are kept: what they used is charged, and is no work of the
-- project's own. A run itself is forgotten after a month.
CREATE TABLE replay_key (
  key_id     TEXT PRIMARY KEY,
  project_id TEXT NOT NULL
);
CREATE INDEX replay_key_by_project ON replay_key (project_id, key_id);
INSERT INTO replay_key (key_id, project_id) SELECT key_id, project_id FROM replay_run WHERE key_id IS NOT NULL;
