-- Generations that did not end well are few: what failed is found without reading what did not. Months that are made
-- from now on have it too.
CREATE INDEX usage_event_rest_by_failure ON usage_event_rest (project_id, created_ms) WHERE status <> 'completed';
