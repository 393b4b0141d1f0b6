CREATE INDEX usage_event_by_bundle ON usage_event (project_id, bundle_id, created_ms, sequence)
  WHERE bundle_id IS NOT NULL;
