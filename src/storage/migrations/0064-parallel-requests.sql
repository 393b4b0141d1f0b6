-- How many generations of a key, and of its children together, may run at once; null where there is no such limit.
ALTER TABLE api_key ADD COLUMN max_parallel_requests BIGINT;
