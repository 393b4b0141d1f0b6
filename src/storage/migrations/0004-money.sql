-- R43. What is held counts against the limit like what is spent. A hold names the process that will settle it: when that
-- process is dead, the hold is returned.
ALTER TABLE api_key ADD COLUMN held_micros BIGINT NOT NULL DEFAULT 0;
ALTER TABLE project ADD COLUMN cap_micros BIGINT;
ALTER TABLE project ADD COLUMN spent_micros BIGINT NOT NULL DEFAULT 0;
ALTER TABLE project ADD COLUMN held_micros BIGINT NOT NULL DEFAULT 0;

CREATE TABLE budget_hold (
  id         TEXT   PRIMARY KEY,
  key_id     TEXT   NOT NULL,
  project_id TEXT   NOT NULL,
  micros     BIGINT NOT NULL,
  process    TEXT   NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE INDEX budget_hold_by_process ON budget_hold (process);

-- Which processes live: each says so every few seconds.
CREATE TABLE live_process (
  id      TEXT   PRIMARY KEY,
  beat_at BIGINT NOT NULL
);

-- §8.2: one immutable record a generation, under its trace id.
CREATE TABLE usage_event (
  trace_id            TEXT   PRIMARY KEY,
  project_id          TEXT   NOT NULL,
  key_id              TEXT   NOT NULL,
  created_at          TEXT   NOT NULL,
  created_ms          BIGINT NOT NULL,
  day                 TEXT   NOT NULL,
  endpoint            TEXT   NOT NULL,
  status              TEXT   NOT NULL,
  requested_model     TEXT   NOT NULL,
  resolved_model      TEXT   NOT NULL,
  provider            TEXT   NOT NULL,
  profile             TEXT   NOT NULL,
  mode                TEXT   NOT NULL,
  region              TEXT   NOT NULL,
  alias_release_id    TEXT,
  cluster_id          TEXT,
  credential_id       TEXT,
  subscription_id     TEXT,
  session_id          TEXT,
  input_tokens        BIGINT NOT NULL,
  cached_tokens       BIGINT NOT NULL,
  written_tokens      BIGINT NOT NULL,
  output_tokens       BIGINT NOT NULL,
  reasoning_tokens    BIGINT NOT NULL,
  repeated_tokens_est BIGINT NOT NULL,
  missed_reuse_tokens BIGINT NOT NULL,
  charged_micros      BIGINT NOT NULL,
  direct_cost_micros  BIGINT NOT NULL,
  savings_micros      BIGINT NOT NULL,
  written_off_micros  BIGINT NOT NULL,
  admission           TEXT   NOT NULL,
  queue_ms            BIGINT NOT NULL,
  ttft_ms             BIGINT,
  duration_ms         BIGINT NOT NULL,
  attempts            TEXT   NOT NULL,
  sequence            BIGINT NOT NULL
);
CREATE INDEX usage_event_by_time ON usage_event (project_id, created_ms, sequence);
CREATE INDEX usage_event_by_key ON usage_event (key_id, created_ms);
CREATE INDEX usage_event_by_session ON usage_event (project_id, session_id, created_ms) WHERE session_id IS NOT NULL;
