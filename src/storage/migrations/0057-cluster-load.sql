-- R52: what clusters told of their load, the highest of each five minutes; swept after seven days. kv_permille is how much
-- of the KV cache was in use. A deregistered cluster is gone, so nothing is referenced.
CREATE TABLE cluster_load (
  project_id  TEXT   NOT NULL,
  cluster_id  TEXT   NOT NULL,
  start_ms    BIGINT NOT NULL,
  running     BIGINT,
  waiting     BIGINT,
  kv_permille BIGINT,
  ttft_p95_ms BIGINT,
  PRIMARY KEY (project_id, cluster_id, start_ms)
);
CREATE INDEX cluster_load_by_time ON cluster_load (start_ms);
