-- Since when a session is deleted, while its line is on its way out.
ALTER TABLE agent_session ADD COLUMN deleted_ms BIGINT;
CREATE INDEX agent_session_deleted ON agent_session (deleted_ms) WHERE deleted_ms IS NOT NULL;
