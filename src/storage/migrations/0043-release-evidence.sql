-- §9.4: what a replay run found, as it was when the release was made: JSON. Runs are forgotten, releases are not.
ALTER TABLE alias_release ADD COLUMN evidence TEXT;
