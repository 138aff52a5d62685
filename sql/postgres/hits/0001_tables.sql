-- Hits: views per item. Items are bytes, the text in UTF-8; times are milliseconds since the Unix epoch (UTC).

-- What has been counted and processed: the value of the collision-free map `hits.<name>`, kept in its transactions.
CREATE TABLE IF NOT EXISTS hits_counts (
  name VARCHAR(32) COLLATE "C" NOT NULL,
  item BYTEA NOT NULL,
  hits BIGINT NOT NULL,
  PRIMARY KEY (name, item)
);
CREATE INDEX IF NOT EXISTS hits_counts_top ON hits_counts (name, hits);

-- Who has seen what in which window, so that it counts once. `viewing` is a hash of both; `times` says in how
-- many transactions it has come, so that the one that finds 1 knows that it is the first.
CREATE TABLE IF NOT EXISTS hits_seen (
  name VARCHAR(32) COLLATE "C" NOT NULL,
  window_start BIGINT NOT NULL,
  viewing BYTEA NOT NULL,
  times BIGINT NOT NULL,
  PRIMARY KEY (name, window_start, viewing)
);

-- Hits by hour, kept for eight days, and by UTC day, which stay. Hours and days are counted from 1970.
CREATE TABLE IF NOT EXISTS hits_hours (
  name VARCHAR(32) COLLATE "C" NOT NULL,
  hour BIGINT NOT NULL,
  item BYTEA NOT NULL,
  hits BIGINT NOT NULL,
  PRIMARY KEY (name, hour, item)
);
CREATE INDEX IF NOT EXISTS hits_hours_item ON hits_hours (name, item);

CREATE TABLE IF NOT EXISTS hits_days (
  name VARCHAR(32) COLLATE "C" NOT NULL,
  day BIGINT NOT NULL,
  item BYTEA NOT NULL,
  hits BIGINT NOT NULL,
  PRIMARY KEY (name, day, item)
);
CREATE INDEX IF NOT EXISTS hits_days_item ON hits_days (name, item);
