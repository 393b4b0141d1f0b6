-- The link by which the first person gets into a project that nobody can sign in to: one a project, as SHA-256 only.
CREATE TABLE owner_link (
  project_id TEXT   PRIMARY KEY REFERENCES project (id),
  hash       TEXT   NOT NULL UNIQUE,
  expires_at BIGINT NOT NULL
);

-- The browser that signed up, as SHA-256 of its cookie: where that browser confirms the address, it is signed in.
ALTER TABLE account_request ADD COLUMN browser_hash TEXT;
ALTER TABLE mail_token ADD COLUMN browser_hash TEXT;
