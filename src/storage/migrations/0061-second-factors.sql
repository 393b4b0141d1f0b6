-- A second factor beside the password (RFC 6238): its secret, sealed. confirmed_at is NULL while it is being set up. A code
-- is of a step of time, and last_step is the latest that was used: none is good twice.
CREATE TABLE second_factor (
  person_id     TEXT   PRIMARY KEY REFERENCES person (id),
  sealed_secret BYTEA  NOT NULL,
  confirmed_at  TEXT,
  last_step     BIGINT NOT NULL,
  created_at    TEXT   NOT NULL
);

-- Codes for who has lost the device, as SHA-256: each works once, then it is gone.
CREATE TABLE recovery_code (
  person_id TEXT NOT NULL REFERENCES person (id),
  hash      TEXT NOT NULL,
  PRIMARY KEY (person_id, hash)
);
