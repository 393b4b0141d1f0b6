-- A project may have 100,000 keys that work, and any number of others: what is asked of them in the transaction of a
-- request, or again and again, is answered by an index alone, which an embedded store walks while nobody else is served.
-- R70: how many of a project's keys work.
CREATE INDEX api_key_working ON api_key (project_id, expires_at, status) WHERE status = 'active';
-- R74: whether another key can still manage the project.
CREATE INDEX api_key_admins ON api_key (project_id, expires_at, id, status, scopes)
  WHERE status = 'active' AND (' ' || scopes || ' ') LIKE '% admin %';
-- R61: secrets whose overlap is over.
CREATE INDEX api_key_by_previous_expiry ON api_key (previous_expires_at) WHERE previous_hash IS NOT NULL;
-- R64: children that gave back what was left, longest ago first.
CREATE INDEX api_key_by_return ON api_key (returned_at) WHERE returned_at IS NOT NULL;
