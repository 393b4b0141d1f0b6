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
  overage_micros      BIGINT NOT NULL,
  waived_micros       BIGINT NOT NULL,
  -- R77: 1 where the tokens were counted here, because the upstream told nothing, or what cannot be.
  tokens_estimated    BIGINT NOT NULL,
  admission           TEXT   NOT NULL,
  queue_ms            BIGINT NOT NULL,
  ttft_ms             BIGINT,
  duration_ms         BIGINT NOT NULL,
  attempts            TEXT   NOT NULL,
  sequence            BIGINT NOT NULL,
  -- What its trace tells beyond the event: JSON, read whole.
  trace               TEXT
);
-- Pages by time, by key and by session, in the order of the list.
CREATE INDEX usage_event_by_time ON usage_event (project_id, created_ms, sequence);
CREATE INDEX usage_event_by_key ON usage_event (key_id, created_ms, sequence);
CREATE INDEX usage_event_by_session ON usage_event (project_id, session_id, created_ms, sequence)
  WHERE session_id IS NOT NULL;

-- Which events no roll-up has in it yet, by project (R78). An event and its line here are written together, and whoever
-- rolls it up takes the line away in the same transaction: roll-ups and what is listed here are all there is, at any
-- moment.
CREATE TABLE usage_unrolled (
  trace_id   TEXT PRIMARY KEY,
  project_id TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX usage_unrolled_by_project ON usage_unrolled (project_id, trace_id);
CREATE TRIGGER usage_event_unrolled AFTER INSERT ON usage_event
  BEGIN INSERT INTO usage_unrolled (trace_id, project_id) VALUES (NEW.trace_id, NEW.project_id); END;

-- CROSS JOIN: the short list first, then each event by its id. `waiting_of` finds a project's lines by their index.
CREATE VIEW usage_to_roll AS
SELECT u.project_id AS waiting_of, e.* FROM usage_unrolled u CROSS JOIN usage_event e WHERE e.trace_id = u.trace_id;
