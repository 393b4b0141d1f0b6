-- R78: how much of contents the line of a session has, and why there is none of a turn whose contents were to be kept.
ALTER TABLE agent_session ADD COLUMN content_bytes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE session_event ADD COLUMN content_dropped TEXT;
UPDATE agent_session SET content_bytes = (
  SELECT CAST(COALESCE(SUM(CASE WHEN sealed IS NULL THEN COALESCE(parts_bytes, 0) ELSE LENGTH(sealed) END), 0) AS BIGINT)
  FROM session_event WHERE session_event.session_id = agent_session.id)
WHERE turns > 0;
CREATE INDEX agent_session_contents ON agent_session (project_id, content_bytes) WHERE content_bytes > 0;
