-- R79: what whoever runs the service sets for a project. Its cap is hard and stands beside the project's own; its share
-- is a weight among projects that ask for the same slots; a project that is suspended is served nothing.
ALTER TABLE project ADD COLUMN operator_cap_micros BIGINT;
ALTER TABLE project ADD COLUMN share BIGINT NOT NULL DEFAULT 1;
ALTER TABLE project ADD COLUMN suspended_at TEXT;

-- R70, R79: how many a project may have, where that is not what every project may.
ALTER TABLE project_quota ADD COLUMN max_present BIGINT;

-- R79: the project that the first start made. Written down once: no clock that is set back makes another one the oldest.
INSERT INTO setting (name, value) SELECT 'operator_project', id FROM project ORDER BY sequence, id LIMIT 1;
