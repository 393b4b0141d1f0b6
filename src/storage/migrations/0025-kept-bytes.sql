-- R78: whose kept answers and stored responses are how large, so that a project's are counted by an index alone. Of
-- responses from before it is looked up: to write it down would write all of them anew.
ALTER TABLE idempotency ADD COLUMN project_id TEXT;
ALTER TABLE idempotency ADD COLUMN bytes BIGINT;
CREATE INDEX idempotency_by_project ON idempotency (project_id, bytes) WHERE project_id IS NOT NULL;
ALTER TABLE stored_response ADD COLUMN bytes BIGINT;
CREATE INDEX stored_response_by_size ON stored_response (project_id, bytes);
