-- The schema of the first version, but for usage events, whose tables differ by engine. Portable: TEXT, BIGINT, BYTEA;
-- times that are shown are RFC 3339 texts in UTC, which compare as the instants they name.

-- People own projects, projects own keys (§2.1, §5.8). Whatever opens a door (a session, a link in a mail) is here as
-- SHA-256 only; a password as Argon2id.
CREATE TABLE person (
  id            TEXT   PRIMARY KEY,
  email         TEXT   NOT NULL UNIQUE,
  verified_at   TEXT,
  created_at    TEXT   NOT NULL,
  password_hash TEXT
);

CREATE TABLE project (
  id                  TEXT   PRIMARY KEY,
  name                TEXT   NOT NULL,
  owner_id            TEXT   NOT NULL REFERENCES person (id),
  created_at          TEXT   NOT NULL,
  sequence            BIGINT NOT NULL,
  cap_micros          BIGINT,
  spent_micros        BIGINT NOT NULL DEFAULT 0,
  held_micros         BIGINT NOT NULL DEFAULT 0,
  -- Every write that could change where a request goes raises it, and each request reads it with its key: a process
  -- may keep what it knows of a project's routes for as long as this number stands still.
  routing_epoch       BIGINT NOT NULL DEFAULT 0,
  allowed_regions     TEXT,
  -- R71: what deadlines have made free of charge, by project and day. One row carries it, as it does the limits:
  -- whoever waives raises it by a conditional update. A day that has passed is overwritten by the next.
  waived_day          TEXT,
  waived_micros       BIGINT NOT NULL DEFAULT 0,
  -- R72: with overage a cap refuses nothing, and what is above it is counted.
  overage_enabled     BIGINT NOT NULL DEFAULT 0,
  -- R73: whether calls may leave the project's own capacity; an alias may say otherwise for itself.
  boundary            TEXT   NOT NULL DEFAULT 'own_first',
  -- R79: what whoever runs the service sets for a project. Its cap is hard and stands beside the project's own; its
  -- share is a weight among projects that ask for the same slots; a project that is suspended is served nothing.
  operator_cap_micros BIGINT,
  share               BIGINT NOT NULL DEFAULT 1,
  suspended_at        TEXT
);

-- hash is the SHA-256 of the raw key, gone once the key is revoked (R7). origin is 'minted' for keys in our own form
-- and 'operator' for the bootstrap key, which may have any form (R5). sequence is the order of insertion (R11).
CREATE TABLE api_key (
  id                  TEXT   PRIMARY KEY,
  project_id          TEXT   NOT NULL REFERENCES project (id),
  name                TEXT   NOT NULL,
  masked              TEXT   NOT NULL,
  hash                TEXT   UNIQUE,
  origin              TEXT   NOT NULL,
  scopes              TEXT   NOT NULL,
  status              TEXT   NOT NULL,
  created_at          TEXT   NOT NULL,
  sequence            BIGINT NOT NULL,
  last_used_at        TEXT,
  budget_micros       BIGINT,
  spent_micros        BIGINT NOT NULL,
  -- R43: what is held counts against the limit like what is spent.
  held_micros         BIGINT NOT NULL DEFAULT 0,
  -- §8.1: what one key may do in a minute or at once; NULL stands for what every key may. On the key's own row, so
  -- that each request reads them together with the key.
  requests_per_minute BIGINT,
  tokens_per_minute   BIGINT,
  concurrent_streams  BIGINT,
  -- What a key may have beyond the contract (R60 to R65): an end, a second secret for a while, lists of what it may
  -- use and from where, a parent, a limit by the calendar. All of it is NULL or 0 where it is not used. Times are
  -- milliseconds here, since every request compares them.
  expires_at          BIGINT,
  previous_hash       TEXT,
  previous_expires_at BIGINT,
  allowed_models      TEXT,
  allowed_cidrs       TEXT,
  -- R64: a child's budget is part of what its parent and the project hold, until returned_at. open_children counts,
  -- on the parent's own row, the children that have not given back yet.
  parent_id           TEXT,
  returned_at         BIGINT,
  open_children       BIGINT NOT NULL DEFAULT 0,
  -- R65: window_spent_micros is what was spent in the window that ends at window_ends_at; once that has passed, it is
  -- 0.
  window_period       TEXT,
  window_limit_micros BIGINT,
  window_spent_micros BIGINT NOT NULL DEFAULT 0,
  window_ends_at      BIGINT,
  -- The clusters that a key may report for: a JSON array of ids, or NULL.
  allowed_clusters    TEXT
);
CREATE INDEX api_key_by_project ON api_key (project_id, sequence);
CREATE UNIQUE INDEX api_key_by_previous_hash ON api_key (previous_hash) WHERE previous_hash IS NOT NULL;
CREATE INDEX api_key_by_parent ON api_key (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX api_key_child_by_expiry ON api_key (project_id, expires_at)
  WHERE parent_id IS NOT NULL AND returned_at IS NULL;

-- Small facts about the store itself: the fingerprint of the secret it was sealed with, and which project is the
-- operator's (R79).
CREATE TABLE setting (
  name  TEXT   PRIMARY KEY,
  value TEXT   NOT NULL
);

-- §2.3. autoscaling is JSON: it is read and written whole, never queried by field.
CREATE TABLE byoc_cluster (
  id                TEXT   PRIMARY KEY,
  project_id        TEXT   NOT NULL REFERENCES project (id),
  name              TEXT   NOT NULL,
  region            TEXT   NOT NULL,
  status            TEXT   NOT NULL,
  runtime           TEXT   NOT NULL,
  kv_cache          TEXT   NOT NULL,
  orchestrator      TEXT   NOT NULL,
  endpoint          TEXT,
  autoscaling       TEXT   NOT NULL,
  created_at        TEXT   NOT NULL,
  sequence          BIGINT NOT NULL,
  updated_at        TEXT   NOT NULL,
  last_heartbeat_at TEXT,
  telemetry         TEXT,
  -- §3.1: which status a cluster had before the one it has. Set by the statement that sets the status, so that no
  -- other statement can come between reading the old and writing the new.
  previous_status   TEXT,
  -- R73: what a cluster served last, also while it is away. JSON.
  served_models     TEXT
);
CREATE INDEX byoc_cluster_by_project ON byoc_cluster (project_id, sequence);
CREATE INDEX byoc_cluster_by_heartbeat ON byoc_cluster (last_heartbeat_at) WHERE status IN ('active', 'draining');

-- §11, R20. A row is free to take once expires_at has passed: 60 s after a handler that then died last renewed it, or
-- 24 h after its response was kept. digest is SHA-256 of (project, path, key): the key itself is not stored, and the
-- response is sealed under it, so this table gives away neither.
CREATE TABLE idempotency (
  digest     TEXT   PRIMARY KEY,
  state      TEXT   NOT NULL,
  owner      TEXT   NOT NULL,
  process    TEXT   NOT NULL,
  expires_at BIGINT NOT NULL,
  sealed     BYTEA,
  -- R78: whose kept answer it is and how large, so that a project's are counted by an index alone. NULL while it runs.
  project_id TEXT,
  bytes      BIGINT
);
CREATE INDEX idempotency_by_expiry ON idempotency (expires_at);
CREATE INDEX idempotency_by_project ON idempotency (project_id, bytes) WHERE project_id IS NOT NULL;

-- R43: a hold names the process that will settle it. When that process is dead, the hold is returned.
CREATE TABLE budget_hold (
  id         TEXT   PRIMARY KEY,
  key_id     TEXT   NOT NULL,
  project_id TEXT   NOT NULL,
  micros     BIGINT NOT NULL,
  process    TEXT   NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE INDEX budget_hold_by_process ON budget_hold (process);

-- Which processes live: each says so every few seconds.
CREATE TABLE live_process (
  id      TEXT   PRIMARY KEY,
  beat_at BIGINT NOT NULL
);

CREATE TABLE agent_hints (
  id         TEXT   PRIMARY KEY,
  project_id TEXT   NOT NULL REFERENCES project (id),
  name       TEXT,
  hints      TEXT   NOT NULL,
  created_at TEXT   NOT NULL,
  sequence   BIGINT NOT NULL
);
CREATE INDEX agent_hints_by_project ON agent_hints (project_id, sequence);

-- R20 applies to the secret: sealed, never shown again.
CREATE TABLE provider_credential (
  id          TEXT   PRIMARY KEY,
  project_id  TEXT   NOT NULL REFERENCES project (id),
  provider    TEXT   NOT NULL,
  name        TEXT   NOT NULL,
  masked      TEXT   NOT NULL,
  base_url    TEXT,
  sealed      BYTEA,
  status      TEXT   NOT NULL,
  created_at  TEXT   NOT NULL,
  sequence    BIGINT NOT NULL,
  verified_at TEXT,
  -- R73: refusals in a row, counted for all replicas together.
  refusals    BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX provider_credential_by_project ON provider_credential (project_id, sequence);

CREATE TABLE model_alias (
  id                 TEXT   PRIMARY KEY,
  project_id         TEXT   NOT NULL REFERENCES project (id),
  name               TEXT   NOT NULL,
  current_release_id TEXT   NOT NULL,
  created_at         TEXT   NOT NULL,
  updated_at         TEXT   NOT NULL,
  sequence           BIGINT NOT NULL,
  boundary           TEXT,
  UNIQUE (project_id, name)
);

-- §9.4: immutable. version counts up within an alias.
CREATE TABLE alias_release (
  id         TEXT   PRIMARY KEY,
  project_id TEXT   NOT NULL REFERENCES project (id),
  alias_id   TEXT   NOT NULL,
  alias_name TEXT   NOT NULL,
  version    BIGINT NOT NULL,
  targets    TEXT   NOT NULL,
  created_at TEXT   NOT NULL,
  sequence   BIGINT NOT NULL,
  UNIQUE (alias_id, version)
);
CREATE INDEX alias_release_by_alias ON alias_release (project_id, alias_name, sequence);

CREATE TABLE subscription (
  id                 TEXT   PRIMARY KEY,
  project_id         TEXT   NOT NULL REFERENCES project (id),
  plan               TEXT   NOT NULL,
  provider           TEXT   NOT NULL,
  status             TEXT   NOT NULL,
  input_discount_pct BIGINT NOT NULL,
  allowance_tokens   BIGINT NOT NULL,
  used_tokens        BIGINT NOT NULL,
  period_start       TEXT   NOT NULL,
  period_end         TEXT   NOT NULL,
  overage_enabled    BIGINT NOT NULL,
  created_at         TEXT   NOT NULL,
  sequence           BIGINT NOT NULL
);
CREATE INDEX subscription_by_project ON subscription (project_id, sequence);

-- Sessions and their event line (§11): the assistant output of a logical response is there once, however many
-- attempts ran, because the database refuses a second. Contents are sealed.
CREATE TABLE agent_session (
  id                TEXT   PRIMARY KEY,
  project_id        TEXT   NOT NULL REFERENCES project (id),
  status            TEXT   NOT NULL,
  agent             TEXT,
  parent_session_id TEXT,
  turns             BIGINT NOT NULL,
  input_tokens      BIGINT NOT NULL,
  cached_tokens     BIGINT NOT NULL,
  created_at        TEXT   NOT NULL,
  last_activity_at  TEXT   NOT NULL,
  sequence          BIGINT NOT NULL,
  made_by           TEXT,
  made_under        TEXT
);
CREATE INDEX agent_session_by_project ON agent_session (project_id, sequence);

CREATE TABLE session_event (
  id          TEXT   PRIMARY KEY,
  project_id  TEXT   NOT NULL,
  session_id  TEXT   NOT NULL REFERENCES agent_session (id),
  sequence    BIGINT NOT NULL,
  type        TEXT   NOT NULL,
  response_id TEXT   NOT NULL,
  trace_id    TEXT   NOT NULL,
  created_at  TEXT   NOT NULL,
  sealed      BYTEA,
  made_by     TEXT,
  made_under  TEXT,
  UNIQUE (session_id, response_id, type)
);
CREATE INDEX session_event_by_session ON session_event (session_id, sequence);

-- /v1/responses and /v2/responses that the caller let us keep (`store`): the response, its input items, its attempts.
CREATE TABLE stored_response (
  id                   TEXT   PRIMARY KEY,
  project_id           TEXT   NOT NULL REFERENCES project (id),
  trace_id             TEXT   NOT NULL,
  previous_response_id TEXT,
  created_at           TEXT   NOT NULL,
  sequence             BIGINT NOT NULL,
  sealed               BYTEA  NOT NULL,
  -- R74: whose contents these are, so that another key needs `admin` to see them: the key, or the person who signed
  -- in, and the parent of a child key.
  made_by              TEXT,
  made_under           TEXT,
  bytes                BIGINT NOT NULL
);
CREATE INDEX stored_response_by_project ON stored_response (project_id, sequence);
CREATE INDEX stored_response_by_size ON stored_response (project_id, bytes);

-- §5.9: what people may do in which project.
CREATE TABLE membership (
  project_id TEXT   NOT NULL REFERENCES project (id),
  person_id  TEXT   NOT NULL REFERENCES person (id),
  role       TEXT   NOT NULL,
  created_at TEXT   NOT NULL,
  sequence   BIGINT NOT NULL,
  PRIMARY KEY (project_id, person_id)
);
CREATE INDEX membership_by_person ON membership (person_id);

-- One open invitation an address and project: a second one takes the place of the first.
CREATE TABLE invitation (
  id         TEXT   PRIMARY KEY,
  project_id TEXT   NOT NULL REFERENCES project (id),
  email      TEXT   NOT NULL,
  role       TEXT   NOT NULL,
  token_hash TEXT   NOT NULL UNIQUE,
  created_at TEXT   NOT NULL,
  sequence   BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  UNIQUE (project_id, email)
);

-- A browser that somebody signed in with, and the project it looks at.
CREATE TABLE sign_in (
  id         TEXT   PRIMARY KEY,
  hash       TEXT   NOT NULL UNIQUE,
  person_id  TEXT   NOT NULL REFERENCES person (id),
  project_id TEXT   REFERENCES project (id),
  created_at TEXT   NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX sign_in_by_person ON sign_in (person_id);
CREATE INDEX sign_in_by_expiry ON sign_in (expires_at);

-- Links in mails: used once, then gone. A verification carries the password of the sign-up that it confirms.
CREATE TABLE mail_token (
  hash          TEXT   PRIMARY KEY,
  kind          TEXT   NOT NULL,
  person_id     TEXT   NOT NULL REFERENCES person (id),
  password_hash TEXT,
  expires_at    BIGINT NOT NULL,
  -- Of several who sign up with one address, the one who confirms it gets a project by the name of their own choice.
  project_name  TEXT,
  browser_hash  TEXT
);
CREATE INDEX mail_token_by_person ON mail_token (person_id);
CREATE INDEX mail_token_by_expiry ON mail_token (expires_at);

-- Sign-ups and resets as they were asked for. Whether the address is known is looked up later, so that the answer
-- cannot tell.
CREATE TABLE account_request (
  id            TEXT   PRIMARY KEY,
  kind          TEXT   NOT NULL,
  email         TEXT   NOT NULL,
  password_hash TEXT,
  project_name  TEXT,
  request_id    TEXT   NOT NULL,
  sequence      BIGINT NOT NULL,
  tried_at      BIGINT NOT NULL,
  expires_at    BIGINT NOT NULL,
  -- The browser that signed up, as SHA-256 of its cookie: where that browser confirms the address, it is signed in.
  browser_hash  TEXT
);
CREATE INDEX account_request_by_email ON account_request (email);

-- §8: an attempt takes one of a few numbered slots before it is made, and keeps it until expires_at. No number of
-- attempts at once can take more slots than there are.
CREATE TABLE attempt_slot (
  bucket     TEXT   NOT NULL,
  slot       BIGINT NOT NULL,
  owner      TEXT   NOT NULL,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (bucket, slot)
);
CREATE INDEX attempt_slot_by_expiry ON attempt_slot (expires_at);

-- Mails that wait to be sent, written together with what they tell of. Sealed: they hold links.
CREATE TABLE mail_outbox (
  id         TEXT   PRIMARY KEY,
  sealed     BYTEA  NOT NULL,
  attempts   BIGINT NOT NULL,
  due_at     BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  sequence   BIGINT NOT NULL
);
CREATE INDEX mail_outbox_by_due ON mail_outbox (due_at, sequence);

-- Who did what. Never changed, and written together with what it tells of.
CREATE TABLE audit_entry (
  id         TEXT   PRIMARY KEY,
  project_id TEXT   NOT NULL REFERENCES project (id),
  actor      TEXT   NOT NULL,
  action     TEXT   NOT NULL,
  target     TEXT,
  request_id TEXT   NOT NULL,
  created_at TEXT   NOT NULL,
  created_ms BIGINT NOT NULL,
  sequence   BIGINT NOT NULL
);
CREATE INDEX audit_entry_by_time ON audit_entry (project_id, created_ms, sequence);

-- Which replica does which of the housekeeping for all of them. Free to take once expires_at has passed. fence rises
-- with every change of hands: work that began under a lower one can no longer commit.
CREATE TABLE housekeeping_lease (
  task       TEXT   PRIMARY KEY,
  holder     TEXT   NOT NULL,
  fence      BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);

-- Refusals by project, hour and kind. Written in bulk, a few seconds late; swept after 90 days.
CREATE TABLE refusal_count (
  project_id TEXT   NOT NULL,
  hour_ms    BIGINT NOT NULL,
  kind       TEXT   NOT NULL,
  count      BIGINT NOT NULL,
  PRIMARY KEY (project_id, hour_ms, kind)
);
CREATE INDEX refusal_count_by_hour ON refusal_count (hour_ms);

-- §3.1: every change of a cluster's status, in the transaction of the change; swept after 30 days. A deregistered
-- cluster is gone, so nothing is referenced.
CREATE TABLE cluster_transition (
  sequence    BIGINT NOT NULL,
  cluster_id  TEXT   NOT NULL,
  project_id  TEXT   NOT NULL,
  from_status TEXT,
  to_status   TEXT   NOT NULL,
  why         TEXT   NOT NULL,
  at_ms       BIGINT NOT NULL
);
CREATE INDEX cluster_transition_by_cluster ON cluster_transition (project_id, cluster_id, sequence);
CREATE INDEX cluster_transition_by_time ON cluster_transition (at_ms);

-- R80: generations that were refused before they left a usage event. Written in bulk, a few seconds late: of equal
-- refusals the first of each minute, with how many there were. Swept after 30 days.
CREATE TABLE refused_call (
  trace_id   TEXT   PRIMARY KEY,
  project_id TEXT   NOT NULL,
  key_id     TEXT   NOT NULL,
  kind       TEXT   NOT NULL,
  at_ms      BIGINT NOT NULL,
  model      TEXT,
  count      BIGINT NOT NULL,
  detail     TEXT   NOT NULL
);
CREATE INDEX refused_call_by_project ON refused_call (project_id, at_ms);
CREATE INDEX refused_call_by_time ON refused_call (at_ms);

-- R70: how many of a thing a project was given, so that a bound is kept by one statement. `present` may be too high,
-- since what ends is not taken off; where it reaches the bound, what is there is counted anew.
CREATE TABLE project_quota (
  project_id  TEXT   NOT NULL,
  kind        TEXT   NOT NULL,
  present     BIGINT NOT NULL,
  -- R70, R79: how many a project may have, where that is not what every project may.
  max_present BIGINT,
  PRIMARY KEY (project_id, kind)
);

-- The link by which the first person gets into a project that nobody can sign in to: one a project, as SHA-256 only.
CREATE TABLE owner_link (
  project_id TEXT   PRIMARY KEY REFERENCES project (id),
  hash       TEXT   NOT NULL UNIQUE,
  expires_at BIGINT NOT NULL
);


-- §8.2: usage added up, so that a year of it is asked for as quickly as a day. `cube` says by what (`day:model`), and a
-- column that it is not by is ''. `spread` is JSON: events by status, and histograms of how long they took.
CREATE TABLE usage_rollup (
  project_id          TEXT   NOT NULL,
  cube                TEXT   NOT NULL,
  start_ms            BIGINT NOT NULL,
  day                 TEXT   NOT NULL,
  key_id              TEXT   NOT NULL,
  model               TEXT   NOT NULL,
  provider            TEXT   NOT NULL,
  profile             TEXT   NOT NULL,
  cluster_id          TEXT   NOT NULL,
  events              BIGINT NOT NULL,
  input_tokens        BIGINT NOT NULL,
  cached_tokens       BIGINT NOT NULL,
  written_tokens      BIGINT NOT NULL,
  output_tokens       BIGINT NOT NULL,
  reasoning_tokens    BIGINT NOT NULL,
  repeated_tokens_est BIGINT NOT NULL,
  missed_reuse_tokens BIGINT NOT NULL,
  charged_micros      BIGINT NOT NULL,
  direct_cost_micros  BIGINT NOT NULL,
  savings_micros      BIGINT NOT NULL,
  written_off_micros  BIGINT NOT NULL,
  overage_micros      BIGINT NOT NULL,
  waived_micros       BIGINT NOT NULL,
  spread              TEXT   NOT NULL,
  -- How many of its events are in the finer roll-ups as well.
  finer_events        BIGINT NOT NULL,
  PRIMARY KEY (project_id, cube, start_ms, key_id, model, provider, profile, cluster_id)
);
-- §8.2: the roll-ups of one key, without reading those of all others over the same days.
CREATE INDEX usage_rollup_by_key ON usage_rollup (key_id, cube, start_ms) WHERE key_id <> '';

-- R78: events that cannot be added up. They wait no longer and are in no roll-up; what they were charged is still known.
CREATE TABLE usage_quarantine (
  trace_id       TEXT   PRIMARY KEY,
  project_id     TEXT   NOT NULL,
  key_id         TEXT   NOT NULL,
  created_ms     BIGINT NOT NULL,
  charged_micros BIGINT NOT NULL,
  reason         TEXT   NOT NULL,
  set_aside_ms   BIGINT NOT NULL
);
CREATE INDEX usage_quarantine_by_project ON usage_quarantine (project_id, created_ms);
