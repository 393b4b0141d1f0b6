-- Responses that nobody waits for (`background: true`): what is to be run, by whom, and how it ended. Whoever has the
-- lease runs it; one whose lease is over is run by another.
CREATE TABLE background_response (
  id          TEXT   PRIMARY KEY,
  project_id  TEXT   NOT NULL REFERENCES project (id),
  key_id      TEXT   NOT NULL,
  made_by     TEXT,
  made_under  TEXT,
  status      TEXT   NOT NULL,
  owner       TEXT,
  -- Nobody begins it, or takes it over, before this.
  lease_until BIGINT NOT NULL,
  attempts    BIGINT NOT NULL,
  created_ms  BIGINT NOT NULL,
  finished_ms BIGINT,
  sequence    BIGINT NOT NULL,
  -- What to tell of it, and, until it has ended, what to ask for.
  sealed      BYTEA  NOT NULL
);
CREATE INDEX background_response_open ON background_response (sequence) WHERE status IN ('queued', 'in_progress');
CREATE INDEX background_response_by_project ON background_response (project_id, sequence);
CREATE INDEX background_response_ended ON background_response (finished_ms) WHERE finished_ms IS NOT NULL;

-- Its events, several in a row, for whoever reads them later or again.
CREATE TABLE background_events (
  response_id  TEXT   NOT NULL,
  first_number BIGINT NOT NULL,
  last_number  BIGINT NOT NULL,
  project_id   TEXT   NOT NULL,
  sealed       BYTEA  NOT NULL,
  PRIMARY KEY (response_id, first_number)
);
