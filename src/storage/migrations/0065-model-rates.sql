-- What a key may ask of single models in a minute, as JSON: a list of model, requests_per_minute, tokens_per_minute.
ALTER TABLE api_key ADD COLUMN model_rates TEXT;
