-- What the events of a background response take, so that a project has a bound of them; and what is looked for when one
-- is promised: those of the project that are under way, or ended lately.
ALTER TABLE background_response ADD COLUMN event_bytes BIGINT NOT NULL DEFAULT 0;
CREATE INDEX background_response_lately ON background_response (project_id, finished_ms);
