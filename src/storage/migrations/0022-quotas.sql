-- R70: how many of a thing a project was given, so that a bound is kept by one statement. `present` may be too high,
-- since what ends is not taken off; where it reaches the bound, what is there is counted anew.
CREATE TABLE project_quota (
  project_id TEXT   NOT NULL,
  kind       TEXT   NOT NULL,
  present    BIGINT NOT NULL,
  PRIMARY KEY (project_id, kind)
);
