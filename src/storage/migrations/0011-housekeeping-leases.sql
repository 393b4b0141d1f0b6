-- Which replica does which of the housekeeping for all of them. Free to take once expires_at has passed. fence rises with
-- every change of hands: work that began under a lower one can no longer commit.
CREATE TABLE housekeeping_lease (
  task       TEXT   PRIMARY KEY,
  holder     TEXT   NOT NULL,
  fence      BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
