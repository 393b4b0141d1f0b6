-- R74: whose contents these are, so that another key needs `admin` to see them: the key, or the person who signed in,
-- and the parent of a child key. What is older than this belongs to nobody, so only admins see it.
ALTER TABLE stored_response ADD COLUMN made_by TEXT;
ALTER TABLE stored_response ADD COLUMN made_under TEXT;
ALTER TABLE agent_session ADD COLUMN made_by TEXT;
ALTER TABLE agent_session ADD COLUMN made_under TEXT;
ALTER TABLE session_event ADD COLUMN made_by TEXT;
ALTER TABLE session_event ADD COLUMN made_under TEXT;

-- The clusters that a key may report for: a JSON array of ids, or NULL.
ALTER TABLE api_key ADD COLUMN allowed_clusters TEXT;
