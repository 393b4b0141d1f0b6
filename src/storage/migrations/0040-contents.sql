-- Contents are not artifacts' alone: whose they are is noted where nobody has them yet, or any more.
ALTER TABLE artifact_loose_content ADD COLUMN kept_for TEXT NOT NULL DEFAULT 'artifacts';
CREATE INDEX artifact_loose_content_by_project ON artifact_loose_content (project_id, kept_for);
