-- R80: by which trace the run of a background response is looked up. Purge jobs name calls by it, and a response that
-- was not made has no other row that says whose it is.
ALTER TABLE background_response ADD COLUMN trace_id TEXT;
CREATE INDEX background_response_by_trace ON background_response (project_id, trace_id) WHERE trace_id IS NOT NULL;
