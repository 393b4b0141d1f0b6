-- Contents that prompts share (/v2/artifacts): immutable, one for equal bytes and kind within a project. Where the
-- contents lie, sealed, `place` says; they are named by an id of their own.
CREATE TABLE artifact (
  id            TEXT   PRIMARY KEY,
  project_id    TEXT   NOT NULL REFERENCES project (id),
  kind          TEXT   NOT NULL,
  name          TEXT,
  media_type    TEXT   NOT NULL,
  bytes         BIGINT NOT NULL,
  sha256        TEXT   NOT NULL,
  tokens_est    BIGINT NOT NULL,
  place         TEXT   NOT NULL,
  content_id    TEXT   NOT NULL UNIQUE,
  created_at    TEXT   NOT NULL,
  expires_at    TEXT,
  last_used_at  TEXT,
  sequence      BIGINT NOT NULL,
  UNIQUE (project_id, sha256, kind)
);
CREATE INDEX artifact_by_project ON artifact (project_id, sequence);
CREATE INDEX artifact_by_expiry ON artifact (expires_at) WHERE expires_at IS NOT NULL;

-- R74: who uploaded the bytes. Whoever has them may see them.
CREATE TABLE artifact_maker (
  project_id  TEXT NOT NULL,
  artifact_id TEXT NOT NULL REFERENCES artifact (id),
  made_by     TEXT NOT NULL,
  made_under  TEXT,
  PRIMARY KEY (artifact_id, made_by)
);

-- Contents in the database, in parts.
CREATE TABLE artifact_content (
  content_id TEXT   NOT NULL,
  part       BIGINT NOT NULL,
  sealed     BYTEA  NOT NULL,
  PRIMARY KEY (content_id, part)
);

-- Contents that no artifact has: they are being written, or are to be erased. Written before either begins, so that a
-- crash leaves nothing behind that is not known of.
CREATE TABLE artifact_loose_content (
  content_id TEXT   PRIMARY KEY,
  place      TEXT   NOT NULL,
  state      TEXT   NOT NULL,
  since_ms   BIGINT NOT NULL
);
CREATE INDEX artifact_loose_content_by_time ON artifact_loose_content (since_ms);
