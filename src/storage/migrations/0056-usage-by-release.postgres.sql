-- What a release of an alias did, the latest first. Calls to models by their own names are not in it. Months that are made
-- from now on have it too.
CREATE INDEX usage_event_rest_by_release ON usage_event_rest (project_id, alias_release_id, created_ms)
  WHERE alias_release_id IS NOT NULL;
