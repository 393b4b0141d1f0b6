-- Partitioned by trace id, which begins with its time: ids of one month are in one partition, so a key on each of them
-- refuses a second event under the same id, whenever it comes. Months are made by the server, ahead of time; what fits
-- none is in `rest`. Keys and indexes are the partitions' own: those of the whole would keep pg_restore from replacing
-- it. Collation "C" is the order of the ids' bytes, whatever the database's own is.
ALTER TABLE usage_event RENAME TO usage_event_whole;
ALTER TABLE usage_event_whole DROP CONSTRAINT usage_event_pkey;
ALTER TABLE usage_event_whole ALTER COLUMN trace_id TYPE TEXT COLLATE "C";
CREATE TABLE usage_event (LIKE usage_event_whole) PARTITION BY RANGE (trace_id);
CREATE TABLE usage_event_rest PARTITION OF usage_event DEFAULT;
INSERT INTO usage_event SELECT * FROM usage_event_whole;
DROP TABLE usage_event_whole;
ALTER TABLE usage_event_rest ADD PRIMARY KEY (trace_id);
CREATE INDEX usage_event_rest_by_time ON usage_event_rest (project_id, created_ms, sequence);
CREATE INDEX usage_event_rest_by_key ON usage_event_rest (key_id, created_ms, sequence);
CREATE INDEX usage_event_rest_by_session ON usage_event_rest (project_id, session_id, created_ms, sequence)
  WHERE session_id IS NOT NULL;

-- Which events no roll-up has in it yet. An event and its line here are written together, and whoever rolls it up takes
-- the line away in the same transaction: roll-ups and what is listed here are all there is, at any moment.
CREATE TABLE usage_unrolled (trace_id TEXT COLLATE "C" PRIMARY KEY);
ALTER TABLE usage_unrolled SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
INSERT INTO usage_unrolled (trace_id) SELECT trace_id FROM usage_event;
CREATE FUNCTION usage_event_unrolled() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN INSERT INTO usage_unrolled (trace_id) VALUES (NEW.trace_id); RETURN NULL; END';
CREATE TRIGGER usage_event_unrolled AFTER INSERT ON usage_event
  FOR EACH ROW EXECUTE FUNCTION usage_event_unrolled();
