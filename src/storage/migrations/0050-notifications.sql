-- Who is told of what happens to a project (/v2/notification-channels). Where it goes and what it is signed with are
-- sealed. events is '*', or a list with a comma before and behind each type. Of one channel one process sends at a time:
-- lease names the turn, and nothing that another turn sent is noted.
CREATE TABLE notification_channel (
  id              TEXT   PRIMARY KEY,
  project_id      TEXT   NOT NULL REFERENCES project (id),
  kind            TEXT   NOT NULL,
  name            TEXT   NOT NULL,
  status          TEXT   NOT NULL,
  events          TEXT   NOT NULL,
  shown           TEXT   NOT NULL,
  sealed_target   BYTEA  NOT NULL,
  sealed_secret   BYTEA,
  sealed_previous BYTEA,
  previous_until  BIGINT,
  -- In a row, over all of its deliveries; until due_at it is left alone.
  failures        BIGINT NOT NULL DEFAULT 0,
  due_at          BIGINT NOT NULL DEFAULT 0,
  lease           TEXT,
  lease_until     BIGINT NOT NULL DEFAULT 0,
  created_at      TEXT   NOT NULL,
  sequence        BIGINT NOT NULL
);
CREATE INDEX notification_channel_by_project ON notification_channel (project_id, sequence);

-- The outbox and the log: an event for one channel, written in the transaction of what it tells of. sequence is the
-- event's number in its project. It is taken from the project's row, so events of one subject have the order of their
-- commits.
CREATE TABLE notification_delivery (
  id            TEXT   PRIMARY KEY,
  project_id    TEXT   NOT NULL,
  channel_id    TEXT   NOT NULL,
  event_id      TEXT   NOT NULL,
  type          TEXT   NOT NULL,
  subject       TEXT   NOT NULL,
  sequence      BIGINT NOT NULL,
  payload       TEXT   NOT NULL,
  status        TEXT   NOT NULL,
  attempts      BIGINT NOT NULL,
  due_at        BIGINT NOT NULL,
  expires_at    BIGINT NOT NULL,
  answer_status BIGINT,
  answer        TEXT,
  error         TEXT,
  created_ms    BIGINT NOT NULL,
  tried_ms      BIGINT
);
CREATE INDEX notification_delivery_log ON notification_delivery (channel_id, sequence, id);
CREATE INDEX notification_delivery_waiting ON notification_delivery (channel_id, sequence) WHERE status = 'waiting';
-- What failed holds back whatever is of the same subject, and nothing else.
CREATE INDEX notification_delivery_failing ON notification_delivery (channel_id, subject)
  WHERE status = 'waiting' AND attempts > 0;
CREATE INDEX notification_delivery_ended ON notification_delivery (created_ms) WHERE status <> 'waiting';

-- What was told of something that lasts, so that nobody hears of it twice: that a key expires, that a target is left
-- alone.
CREATE TABLE notification_mark (
  project_id TEXT   NOT NULL,
  mark       TEXT   NOT NULL,
  state      TEXT   NOT NULL,
  at_ms      BIGINT NOT NULL,
  PRIMARY KEY (project_id, mark)
);
CREATE INDEX notification_mark_by_time ON notification_mark (at_ms);

ALTER TABLE project ADD COLUMN event_sequence BIGINT NOT NULL DEFAULT 0;
-- Whether the last report that said anything of it was above the target.
ALTER TABLE byoc_cluster ADD COLUMN is_slow BIGINT NOT NULL DEFAULT 0;

CREATE INDEX api_key_by_expiry ON api_key (expires_at) WHERE expires_at IS NOT NULL AND parent_id IS NULL;
