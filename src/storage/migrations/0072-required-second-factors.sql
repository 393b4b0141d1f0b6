-- Whether who signs in with a password needs a second factor to see the project.
ALTER TABLE project ADD COLUMN second_factor_required BIGINT NOT NULL DEFAULT 0;
