-- Who somebody is at an identity provider (`sign_in.issuers`): by the issuer's address and its own name for them, never by
-- an address of mail.
CREATE TABLE person_identity (
  id           TEXT   PRIMARY KEY,
  issuer       TEXT   NOT NULL,
  subject      TEXT   NOT NULL,
  person_id    TEXT   NOT NULL REFERENCES person (id),
  created_at   TEXT   NOT NULL,
  last_used_at TEXT   NOT NULL,
  UNIQUE (issuer, subject)
);
CREATE INDEX person_identity_by_person ON person_identity (person_id);

-- States of sign-ins that have come back, as SHA-256: each is taken once. Kept for as long as one is good.
CREATE TABLE used_state (
  hash       TEXT   PRIMARY KEY,
  expires_at BIGINT NOT NULL
);
CREATE INDEX used_state_by_expiry ON used_state (expires_at);

-- Whose claims gave this role: the issuer's address. NULL where a person did.
ALTER TABLE membership ADD COLUMN granted_by TEXT;

-- By which issuer a session began, and its ID token, sealed with the session's own secret: sign-out needs both.
ALTER TABLE sign_in ADD COLUMN issuer TEXT;
ALTER TABLE sign_in ADD COLUMN sealed_id_token BYTEA;
