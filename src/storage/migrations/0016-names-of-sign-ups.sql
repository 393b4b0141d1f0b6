-- Of several who sign up with one address, the one who confirms it gets a project by the name of their own choice.
ALTER TABLE mail_token ADD COLUMN project_name TEXT;
