-- Background responses whose events are there: of a project, what they take; and those whose events are to go. Without
-- the rows themselves, in which the bytes of events stand behind all that was asked for.
CREATE INDEX background_response_told ON background_response (project_id, finished_ms, event_bytes) WHERE event_bytes > 0;
CREATE INDEX background_response_told_ended ON background_response (finished_ms, id, event_bytes) WHERE event_bytes > 0;
-- What is told of one that came to nothing, where that is large: it repeats what was asked for.
ALTER TABLE background_response ADD COLUMN told_bytes BIGINT NOT NULL DEFAULT 0;
CREATE INDEX background_response_not_made ON background_response (project_id, finished_ms, told_bytes) WHERE told_bytes > 0;
