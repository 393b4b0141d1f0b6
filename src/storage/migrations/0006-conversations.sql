-- Sessions and their event line (§11): the assistant output of a logical response is there once, however many attempts
-- ran, because the database refuses a second. Contents are sealed.
CREATE TABLE agent_session (
  id                TEXT   PRIMARY KEY,
  project_id        TEXT   NOT NULL REFERENCES project (id),
  status            TEXT   NOT NULL,
  agent             TEXT,
  parent_session_id TEXT,
  turns             BIGINT NOT NULL,
  input_tokens      BIGINT NOT NULL,
  cached_tokens     BIGINT NOT NULL,
  created_at        TEXT   NOT NULL,
  last_activity_at  TEXT   NOT NULL,
  sequence          BIGINT NOT NULL
);
CREATE INDEX agent_session_by_project ON agent_session (project_id, sequence);

CREATE TABLE session_event (
  id          TEXT   PRIMARY KEY,
  project_id  TEXT   NOT NULL,
  session_id  TEXT   NOT NULL REFERENCES agent_session (id),
  sequence    BIGINT NOT NULL,
  type        TEXT   NOT NULL,
  response_id TEXT   NOT NULL,
  trace_id    TEXT   NOT NULL,
  created_at  TEXT   NOT NULL,
  sealed      BYTEA,
  UNIQUE (session_id, response_id, type)
);
CREATE INDEX session_event_by_session ON session_event (session_id, sequence);

-- /v1/responses and /v2/responses that the caller let us keep (`store`): the response, its input items, its attempts.
CREATE TABLE stored_response (
  id                   TEXT   PRIMARY KEY,
  project_id           TEXT   NOT NULL REFERENCES project (id),
  trace_id             TEXT   NOT NULL,
  previous_response_id TEXT,
  created_at           TEXT   NOT NULL,
  sequence             BIGINT NOT NULL,
  sealed               BYTEA  NOT NULL
);
CREATE INDEX stored_response_by_project ON stored_response (project_id, sequence);
