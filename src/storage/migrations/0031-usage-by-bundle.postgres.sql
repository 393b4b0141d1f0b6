-- Months that are made from now on have it too.
CREATE INDEX usage_event_rest_by_bundle ON usage_event_rest (project_id, bundle_id, created_ms, sequence)
  WHERE bundle_id IS NOT NULL;
