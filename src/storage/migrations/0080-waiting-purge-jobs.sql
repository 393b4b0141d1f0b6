-- Every second somebody asks whether a purge job waits: plans that were counted and never erased are not walked through.
CREATE INDEX purge_job_waiting ON purge_job (sequence)
  WHERE status IN ('queued', 'running') OR (status = 'planned' AND phase = 'count');
