-- §8.1: what one key may do in a minute or at once; NULL stands for what every key may. On the key's own row, so that
-- each request reads them together with the key.
ALTER TABLE api_key ADD COLUMN requests_per_minute BIGINT;
ALTER TABLE api_key ADD COLUMN tokens_per_minute BIGINT;
ALTER TABLE api_key ADD COLUMN concurrent_streams BIGINT;
