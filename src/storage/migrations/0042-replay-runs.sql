-- Replay runs (/v2/replay-runs): recorded calls that are asked again, elsewhere or otherwise. Of a project one at a time
-- is under way, which the index decides.
CREATE TABLE replay_run (
  id              TEXT   PRIMARY KEY,
  project_id      TEXT   NOT NULL REFERENCES project (id),
  status          TEXT   NOT NULL,
  -- As they were asked for: JSON.
  source          TEXT   NOT NULL,
  target          TEXT   NOT NULL,
  overrides       TEXT,
  control         BIGINT NOT NULL,
  -- The alias release that is asked, as it was when the run was made: JSON.
  release         TEXT,
  matched         BIGINT NOT NULL,
  -- What was planned, of all items together.
  low_micros      BIGINT NOT NULL,
  high_micros     BIGINT NOT NULL,
  cached_tokens   BIGINT NOT NULL,
  -- From its execution on: the key that its calls are made with, which has the money that was carved out for it.
  key_id          TEXT,
  max_cost_micros BIGINT,
  concurrency     BIGINT,
  error           TEXT,
  created_at      TEXT   NOT NULL,
  executed_at     TEXT,
  finished_at     TEXT,
  expires_ms      BIGINT NOT NULL,
  sequence        BIGINT NOT NULL
);
CREATE INDEX replay_run_by_project ON replay_run (project_id, sequence);
CREATE INDEX replay_run_open ON replay_run (sequence) WHERE status IN ('queued', 'running');
CREATE INDEX replay_run_by_expiry ON replay_run (expires_ms);
CREATE UNIQUE INDEX replay_run_under_way ON replay_run (project_id) WHERE status IN ('queued', 'running', 'paused');

-- One call of a run: a recorded call and an arm. What was planned, what the recorded call used and what became of it are
-- JSON, read and written whole.
CREATE TABLE replay_item (
  run_id        TEXT   NOT NULL,
  project_id    TEXT   NOT NULL,
  trace_id      TEXT   NOT NULL,
  arm           TEXT   NOT NULL,
  position      BIGINT NOT NULL,
  status        TEXT   NOT NULL,
  reason        TEXT,
  message       TEXT,
  planned       TEXT   NOT NULL,
  recorded      TEXT,
  result        TEXT,
  attempts      BIGINT NOT NULL DEFAULT 0,
  begun_ms      BIGINT,
  not_before_ms BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (run_id, trace_id, arm)
);
CREATE UNIQUE INDEX replay_item_by_position ON replay_item (run_id, position);
CREATE INDEX replay_item_open ON replay_item (run_id, position) WHERE status IN ('pending', 'running');

-- What was answered, sealed. Its trace is that of the recorded call: whatever erases that erases this.
CREATE TABLE replay_output (
  id         TEXT   PRIMARY KEY,
  run_id     TEXT   NOT NULL,
  project_id TEXT   NOT NULL,
  trace_id   TEXT   NOT NULL,
  key_id     TEXT   NOT NULL,
  -- With which key the run was executed, or who.
  made_under TEXT,
  created_ms BIGINT NOT NULL,
  sequence   BIGINT NOT NULL,
  sealed     BYTEA  NOT NULL,
  bytes      BIGINT NOT NULL
);
CREATE INDEX replay_output_by_run ON replay_output (run_id);
CREATE INDEX replay_output_by_project ON replay_output (project_id, sequence);
