-- What the tables and columns mean is said in sql/mysql/hits/0001_tables.sql.

CREATE TABLE IF NOT EXISTS hits_counts (
  name VARCHAR(32) COLLATE "C" NOT NULL,
  item BYTEA NOT NULL,
  hits BIGINT NOT NULL,
  PRIMARY KEY (name, item)
);
CREATE INDEX IF NOT EXISTS hits_counts_top ON hits_counts (name, hits);

CREATE TABLE IF NOT EXISTS hits_viewings (
  name VARCHAR(32) COLLATE "C" NOT NULL,
  window_start BIGINT NOT NULL,
  viewing BYTEA NOT NULL,
  times BIGINT NOT NULL,
  PRIMARY KEY (name, window_start, viewing)
);

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

CREATE TABLE IF NOT EXISTS hits_imports (
  name VARCHAR(32) COLLATE "C" NOT NULL,
  id VARCHAR(32) COLLATE "C" NOT NULL,
  digest BYTEA NOT NULL,
  records BIGINT NOT NULL,
  ended SMALLINT NOT NULL,
  PRIMARY KEY (name, id)
);
