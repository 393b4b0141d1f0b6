-- Generations that did not end well are few: what failed is found without reading what did not.
CREATE INDEX usage_event_by_failure ON usage_event (project_id, created_ms) WHERE status <> 'completed';
