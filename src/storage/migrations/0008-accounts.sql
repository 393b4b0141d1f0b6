-- §5.6, §5.9: people with passwords, what they may do in which project, and how they sign in. Whatever opens a door
-- (a session, a link in a mail) is here as SHA-256 only; a password as Argon2id.
ALTER TABLE person ADD COLUMN password_hash TEXT;

CREATE TABLE membership (
  project_id TEXT   NOT NULL REFERENCES project (id),
  person_id  TEXT   NOT NULL REFERENCES person (id),
  role       TEXT   NOT NULL,
  created_at TEXT   NOT NULL,
  sequence   BIGINT NOT NULL,
  PRIMARY KEY (project_id, person_id)
);
CREATE INDEX membership_by_person ON membership (person_id);
INSERT INTO membership (project_id, person_id, role, created_at, sequence)
SELECT id, owner_id, 'owner', created_at, sequence FROM project;

-- One open invitation an address and project: a second one takes the place of the first.
CREATE TABLE invitation (
  id         TEXT   PRIMARY KEY,
  project_id TEXT   NOT NULL REFERENCES project (id),
  email      TEXT   NOT NULL,
  role       TEXT   NOT NULL,
  token_hash TEXT   NOT NULL UNIQUE,
  created_at TEXT   NOT NULL,
  sequence   BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  UNIQUE (project_id, email)
);

-- A browser that somebody signed in with, and the project it looks at.
CREATE TABLE sign_in (
  id         TEXT   PRIMARY KEY,
  hash       TEXT   NOT NULL UNIQUE,
  person_id  TEXT   NOT NULL REFERENCES person (id),
  project_id TEXT   REFERENCES project (id),
  created_at TEXT   NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX sign_in_by_person ON sign_in (person_id);
CREATE INDEX sign_in_by_expiry ON sign_in (expires_at);

-- Links in mails: used once, then gone. A verification carries the password of the sign-up that it confirms.
CREATE TABLE mail_token (
  hash          TEXT   PRIMARY KEY,
  kind          TEXT   NOT NULL,
  person_id     TEXT   NOT NULL REFERENCES person (id),
  password_hash TEXT,
  expires_at    BIGINT NOT NULL
);
CREATE INDEX mail_token_by_person ON mail_token (person_id);
CREATE INDEX mail_token_by_expiry ON mail_token (expires_at);

-- Sign-ups and resets as they were asked for. Whether the address is known is looked up later, so that the answer
-- cannot tell.
CREATE TABLE account_request (
  id            TEXT   PRIMARY KEY,
  kind          TEXT   NOT NULL,
  email         TEXT   NOT NULL,
  password_hash TEXT,
  project_name  TEXT,
  request_id    TEXT   NOT NULL,
  sequence      BIGINT NOT NULL,
  tried_at      BIGINT NOT NULL,
  expires_at    BIGINT NOT NULL
);
CREATE INDEX account_request_by_email ON account_request (email);

-- §8: an attempt takes one of a few numbered slots before it is made, and keeps it until expires_at. No number of
-- attempts at once can take more slots than there are.
CREATE TABLE attempt_slot (
  bucket     TEXT   NOT NULL,
  slot       BIGINT NOT NULL,
  owner      TEXT   NOT NULL,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (bucket, slot)
);
CREATE INDEX attempt_slot_by_expiry ON attempt_slot (expires_at);

-- Mails that wait to be sent, written together with what they tell of. Sealed: they hold links.
CREATE TABLE mail_outbox (
  id         TEXT   PRIMARY KEY,
  sealed     BYTEA  NOT NULL,
  attempts   BIGINT NOT NULL,
  due_at     BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  sequence   BIGINT NOT NULL
);
CREATE INDEX mail_outbox_by_due ON mail_outbox (due_at, sequence);

-- Who did what. Never changed, and written together with what it tells of.
CREATE TABLE audit_entry (
  id         TEXT   PRIMARY KEY,
  project_id TEXT   NOT NULL REFERENCES project (id),
  actor      TEXT   NOT NULL,
  action     TEXT   NOT NULL,
  target     TEXT,
  request_id TEXT   NOT NULL,
  created_at TEXT   NOT NULL,
  created_ms BIGINT NOT NULL,
  sequence   BIGINT NOT NULL
);
CREATE INDEX audit_entry_by_time ON audit_entry (project_id, created_ms, sequence);
