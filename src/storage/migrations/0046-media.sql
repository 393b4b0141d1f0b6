-- §8.2: what a generation took beside tokens of text, where its matter is images, sound or searches: JSON.
ALTER TABLE usage_event ADD COLUMN units TEXT;
