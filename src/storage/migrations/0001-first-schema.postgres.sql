-- §8.2: one immutable record a generation, under its trace id. Partitioned by that id, which begins with its time: ids of
-- one month are in one partition, so a key on each of them refuses a second event under the same id, whenever it comes.
-- Months are made by the server, ahead of time; what fits none is in `rest`. Keys and indexes are the partitions' own:
-- those of the whole would keep pg_restore from replacing it. Collation "C" is the order of the ids' bytes, whatever
-- the database's own is.
CREATE TABLE usage_event (
  trace_id            TEXT   COLLATE "C" NOT NULL,
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
) PARTITION BY RANGE (trace_id);
CREATE TABLE usage_event_rest PARTITION OF usage_event DEFAULT;
ALTER TABLE usage_event_rest ADD PRIMARY KEY (trace_id);
-- Pages by time, by key and by session, in the order of the list.
CREATE INDEX usage_event_rest_by_time ON usage_event_rest (project_id, created_ms, sequence);
CREATE INDEX usage_event_rest_by_key ON usage_event_rest (key_id, created_ms, sequence);
CREATE INDEX usage_event_rest_by_session ON usage_event_rest (project_id, session_id, created_ms, sequence)
  WHERE session_id IS NOT NULL;

-- Which events no roll-up has in it yet, by project (R78). An event and its line here are written together, and whoever
-- rolls it up takes the line away in the same transaction: roll-ups and what is listed here are all there is, at any
-- moment.
CREATE TABLE usage_unrolled (
  trace_id   TEXT COLLATE "C" PRIMARY KEY,
  project_id TEXT NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE INDEX usage_unrolled_by_project ON usage_unrolled (project_id, trace_id);
CREATE FUNCTION usage_event_unrolled() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN INSERT INTO usage_unrolled (trace_id, project_id) VALUES (NEW.trace_id, NEW.project_id); RETURN NULL; END';
CREATE TRIGGER usage_event_unrolled AFTER INSERT ON usage_event
  FOR EACH ROW EXECUTE FUNCTION usage_event_unrolled();

-- `waiting_of` finds a project's lines by their index. LIMIT: each event is looked up by its id. Left to choose, the
-- planner goes by what it last knew of a list that is long one minute and empty the next, and may read all events to
-- find a few.
CREATE VIEW usage_to_roll AS
SELECT u.project_id AS waiting_of, u.trace_id, e.project_id, e.key_id, e.created_ms, e.day, e.status, e.resolved_model,
  e.provider, e.profile, e.cluster_id, e.session_id, e.duration_ms, e.ttft_ms, e.input_tokens, e.cached_tokens,
  e.written_tokens, e.output_tokens, e.reasoning_tokens, e.repeated_tokens_est, e.missed_reuse_tokens, e.charged_micros,
  e.direct_cost_micros, e.savings_micros, e.written_off_micros, e.overage_micros, e.waived_micros
FROM usage_unrolled u CROSS JOIN LATERAL (SELECT * FROM usage_event o WHERE o.trace_id = u.trace_id LIMIT 1) e;
