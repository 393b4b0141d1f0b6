-- Prefixes that prompts share (/v2/bundles): tools and turns made of artifacts, in their order. They never change.
CREATE TABLE bundle (
  id           TEXT   PRIMARY KEY,
  project_id   TEXT   NOT NULL REFERENCES project (id),
  name         TEXT,
  prefix_hash  TEXT   NOT NULL,
  tokens_est   BIGINT NOT NULL,
  bytes        BIGINT NOT NULL,
  created_at   TEXT   NOT NULL,
  made_by      TEXT,
  made_under   TEXT,
  sequence     BIGINT NOT NULL,
  UNIQUE (project_id, prefix_hash)
);
CREATE INDEX bundle_by_project ON bundle (project_id, sequence);

-- What a bundle is made of. Its tools, where it has any, are of the role `tools` and come first.
CREATE TABLE bundle_item (
  project_id  TEXT   NOT NULL,
  bundle_id   TEXT   NOT NULL REFERENCES bundle (id),
  position    BIGINT NOT NULL,
  role        TEXT   NOT NULL,
  artifact_id TEXT   NOT NULL REFERENCES artifact (id),
  PRIMARY KEY (bundle_id, position)
);
CREATE INDEX bundle_item_by_artifact ON bundle_item (artifact_id);

-- With which bundle a generation was asked for.
ALTER TABLE usage_event ADD COLUMN bundle_id TEXT;
