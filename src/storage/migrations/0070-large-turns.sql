-- A session's turn that is too large to be written in one statement lies in parts, as kept answers and responses do.
ALTER TABLE session_event ADD COLUMN parts_id TEXT;
ALTER TABLE session_event ADD COLUMN parts_bytes BIGINT;
