-- What a credential says of the platform that it is for, and of its models: JSON, and nothing secret.
ALTER TABLE provider_credential ADD COLUMN settings TEXT;
