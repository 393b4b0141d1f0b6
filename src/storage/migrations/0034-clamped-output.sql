-- R76: 1 where a call whose output limit the budget does not buy gets what it does buy, in the place of a refusal.
ALTER TABLE api_key ADD COLUMN clamp_output BIGINT;
