-- §2.3. autoscaling is JSON: it is read and written whole, never queried by field.
CREATE TABLE byoc_cluster (
  id                TEXT   PRIMARY KEY,
  project_id        TEXT   NOT NULL REFERENCES project (id),
  name              TEXT   NOT NULL,
  region            TEXT   NOT NULL,
  status            TEXT   NOT NULL,
  runtime           TEXT   NOT NULL,
  kv_cache          TEXT   NOT NULL,
  orchestrator      TEXT   NOT NULL,
  endpoint          TEXT,
  autoscaling       TEXT   NOT NULL,
  created_at        TEXT   NOT NULL,
  sequence          BIGINT NOT NULL,
  updated_at        TEXT   NOT NULL,
  last_heartbeat_at TEXT
);
CREATE INDEX byoc_cluster_by_project ON byoc_cluster (project_id, sequence);
CREATE INDEX byoc_cluster_by_heartbeat ON byoc_cluster (last_heartbeat_at) WHERE status IN ('active', 'draining');
