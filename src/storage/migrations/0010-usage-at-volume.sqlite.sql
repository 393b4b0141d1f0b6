-- Which events no roll-up has in it yet. An event and its line here are written together, and whoever rolls it up takes
-- the line away in the same transaction: roll-ups and what is listed here are all there is, at any moment.
CREATE TABLE usage_unrolled (trace_id TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT INTO usage_unrolled (trace_id) SELECT trace_id FROM usage_event;
CREATE TRIGGER usage_event_unrolled AFTER INSERT ON usage_event
  BEGIN INSERT INTO usage_unrolled (trace_id) VALUES (NEW.trace_id); END;

-- Pages by key and by session, in the order of the list.
DROP INDEX usage_event_by_key;
DROP INDEX usage_event_by_session;
CREATE INDEX usage_event_by_key ON usage_event (key_id, created_ms, sequence);
CREATE INDEX usage_event_by_session ON usage_event (project_id, session_id, created_ms, sequence)
  WHERE session_id IS NOT NULL;
