-- Purge jobs (/v2/purge-jobs): what is to be erased, how far that is, and the receipt. Of a project one at a time is
-- under way, which the index decides.
CREATE TABLE purge_job (
  id          TEXT   PRIMARY KEY,
  project_id  TEXT   NOT NULL REFERENCES project (id),
  status      TEXT   NOT NULL,
  -- As it was asked for: JSON. What it names lies in purge_target.
  filter      TEXT   NOT NULL,
  kinds       TEXT   NOT NULL,
  key_id      TEXT,
  is_listed   BIGINT NOT NULL,
  from_ms     BIGINT NOT NULL,
  until_ms    BIGINT NOT NULL,
  as_of_ms    BIGINT NOT NULL,
  phase       TEXT   NOT NULL,
  -- How far it is: JSON, read and written whole, in the transaction of each batch.
  progress    TEXT   NOT NULL,
  error       TEXT,
  receipt     TEXT,
  created_at  TEXT   NOT NULL,
  finished_at TEXT,
  sequence    BIGINT NOT NULL
);
CREATE INDEX purge_job_by_project ON purge_job (project_id, sequence);
CREATE INDEX purge_job_open ON purge_job (sequence) WHERE status IN ('planned', 'queued', 'running');
CREATE UNIQUE INDEX purge_job_under_way ON purge_job (project_id) WHERE status IN ('queued', 'running');

-- What a job names, and the traces that belong to it: found when the job is made, so that it does not matter in which
-- order things are erased.
CREATE TABLE purge_target (
  job_id     TEXT NOT NULL,
  project_id TEXT NOT NULL,
  kind       TEXT NOT NULL,
  id         TEXT NOT NULL,
  PRIMARY KEY (job_id, kind, id)
);

-- What a job has erased, until its receipt is signed. Ids are hexadecimal: so they sort by bytes on every engine.
CREATE TABLE purge_erased (
  job_id     TEXT NOT NULL,
  project_id TEXT NOT NULL,
  kind       TEXT NOT NULL,
  id_hex     TEXT NOT NULL,
  PRIMARY KEY (job_id, kind, id_hex)
);

-- §11: which generation a kept answer is of, and with which key it was asked for.
ALTER TABLE idempotency ADD COLUMN trace_id TEXT;
ALTER TABLE idempotency ADD COLUMN key_id TEXT;

-- What is remembered of a project's prompts, by hashes and in memory, is good while this number stands still. Each
-- request reads it with its key.
ALTER TABLE project ADD COLUMN memory_epoch BIGINT NOT NULL DEFAULT 0;

-- Whose contents are to be erased, so that a job knows when its own are gone.
ALTER TABLE artifact_loose_content ADD COLUMN project_id TEXT;
