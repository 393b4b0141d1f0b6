DROP TRIGGER usage_event_unrolled;
CREATE TRIGGER usage_event_unrolled AFTER INSERT ON usage_event
  BEGIN INSERT INTO usage_unrolled (trace_id, project_id) VALUES (NEW.trace_id, NEW.project_id); END;
-- `usage_to_roll` with whose each event is, as the line has it: `waiting_of` finds a project's lines by their index.
CREATE VIEW usage_to_roll_of AS
SELECT u.project_id AS waiting_of, e.* FROM usage_unrolled u CROSS JOIN usage_event e WHERE e.trace_id = u.trace_id;
