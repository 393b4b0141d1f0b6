-- What a trace tells beyond its usage event: JSON, read whole. Absent for generations of earlier versions.
ALTER TABLE usage_event ADD COLUMN trace TEXT;

-- Refusals by project, hour and kind. Written in bulk, a few seconds late; swept after 90 days.
CREATE TABLE refusal_count (
  project_id TEXT   NOT NULL,
  hour_ms    BIGINT NOT NULL,
  kind       TEXT   NOT NULL,
  count      BIGINT NOT NULL,
  PRIMARY KEY (project_id, hour_ms, kind)
);
CREATE INDEX refusal_count_by_hour ON refusal_count (hour_ms);

-- §3.1: which status a cluster had before the one it has. Set by the statement that sets the status, so that no other
-- statement can come between reading the old and writing the new.
ALTER TABLE byoc_cluster ADD COLUMN previous_status TEXT;

-- §3.1: every change of a cluster's status, in the transaction of the change; swept after 30 days. A deregistered
-- cluster is gone, so nothing is referenced.
CREATE TABLE cluster_transition (
  sequence    BIGINT NOT NULL,
  cluster_id  TEXT   NOT NULL,
  project_id  TEXT   NOT NULL,
  from_status TEXT,
  to_status   TEXT   NOT NULL,
  why         TEXT   NOT NULL,
  at_ms       BIGINT NOT NULL
);
CREATE INDEX cluster_transition_by_cluster ON cluster_transition (project_id, cluster_id, sequence);
CREATE INDEX cluster_transition_by_time ON cluster_transition (at_ms);
