-- What was seen on one cluster, the latest first, however much else the project does.
CREATE INDEX usage_event_by_cluster ON usage_event (project_id, cluster_id, created_ms)
  WHERE cluster_id IS NOT NULL;
