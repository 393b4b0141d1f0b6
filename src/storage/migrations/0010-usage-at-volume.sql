-- §8.2: usage added up, so that a year of it is asked for as quickly as a day. `cube` says by what (`day:model`), and a
-- column that it is not by is ''. `spread` is JSON: events by status, and histograms of how long they took.
CREATE TABLE usage_rollup (
  project_id          TEXT   NOT NULL,
  cube                TEXT   NOT NULL,
  start_ms            BIGINT NOT NULL,
  day                 TEXT   NOT NULL,
  key_id              TEXT   NOT NULL,
  model               TEXT   NOT NULL,
  provider            TEXT   NOT NULL,
  profile             TEXT   NOT NULL,
  cluster_id          TEXT   NOT NULL,
  events              BIGINT NOT NULL,
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
  spread              TEXT   NOT NULL,
  PRIMARY KEY (project_id, cube, start_ms, key_id, model, provider, profile, cluster_id)
);
