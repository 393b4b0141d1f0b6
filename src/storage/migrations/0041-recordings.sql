-- Whether the exact bytes of a project's generations are kept, and since when.
ALTER TABLE project ADD COLUMN records_since_ms BIGINT;

-- Recordings: which generation, whose, and where its bytes are in the pack that they were compressed with.
CREATE TABLE recording (
  trace_id      TEXT   PRIMARY KEY,
  project_id    TEXT   NOT NULL,
  key_id        TEXT   NOT NULL,
  made_by       TEXT,
  made_under    TEXT,
  endpoint      TEXT   NOT NULL,
  status        BIGINT NOT NULL,
  is_stream     BIGINT NOT NULL,
  at_ms         BIGINT NOT NULL,
  request_bytes BIGINT NOT NULL,
  answer_bytes  BIGINT NOT NULL,
  pack_id       TEXT   NOT NULL,
  starts_at     BIGINT NOT NULL
);
CREATE INDEX recording_by_time ON recording (project_id, at_ms, trace_id);

-- Recordings that were written together: compressed, then sealed, here or where contents lie. `is_cut`: some of what is
-- in it belongs to no recording any more, and is to be cut out.
CREATE TABLE recording_pack (
  id           TEXT   PRIMARY KEY,
  project_id   TEXT   NOT NULL,
  -- Its first and its last: by these its recordings are found.
  from_ms      BIGINT NOT NULL,
  until_ms     BIGINT NOT NULL,
  plain_bytes  BIGINT NOT NULL,
  packed_bytes BIGINT NOT NULL,
  is_cut       BIGINT NOT NULL DEFAULT 0,
  sealed       BYTEA,
  place        TEXT,
  content_id   TEXT   UNIQUE
);
CREATE INDEX recording_pack_by_time ON recording_pack (project_id, until_ms);
CREATE INDEX recording_pack_cut ON recording_pack (project_id) WHERE is_cut = 1;

-- How many generations were not recorded though they were to be, and why, by the hour.
CREATE TABLE recording_drop (
  project_id TEXT   NOT NULL,
  hour_ms    BIGINT NOT NULL,
  reason     TEXT   NOT NULL,
  count      BIGINT NOT NULL,
  PRIMARY KEY (project_id, hour_ms, reason)
);
