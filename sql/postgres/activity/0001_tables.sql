-- What the tables and columns mean is said in sql/mysql/activity/0001_tables.sql.

CREATE TABLE IF NOT EXISTS activities (
  name VARCHAR(32) COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  number BIGINT NOT NULL,
  visitor BYTEA NULL,
  page VARCHAR(1024) COLLATE "C" NOT NULL,
  PRIMARY KEY (name, created_at, number)
);

CREATE TABLE IF NOT EXISTS activity_seconds (
  name VARCHAR(32) COLLATE "C" NOT NULL,
  second BIGINT NOT NULL,
  views BIGINT NOT NULL,
  sums_only BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (name, second)
);

CREATE TABLE IF NOT EXISTS activity_visitors (
  name VARCHAR(32) COLLATE "C" NOT NULL,
  day BIGINT NOT NULL,
  visitor BYTEA NOT NULL,
  last_second BIGINT NOT NULL,
  last_slice BIGINT NOT NULL,
  first_second BIGINT NOT NULL DEFAULT 0,
  hours INT NOT NULL,
  PRIMARY KEY (name, day, visitor)
);
CREATE INDEX IF NOT EXISTS activity_visitors_last_slice ON activity_visitors (name, last_slice);

CREATE TABLE IF NOT EXISTS activity_books (
  name VARCHAR(32) COLLATE "C" NOT NULL,
  open_day BIGINT NOT NULL,
  open_hour BIGINT NOT NULL DEFAULT 0,
  views BIGINT NOT NULL,
  changes BIGINT NOT NULL,
  uncounted BIGINT NOT NULL DEFAULT 0,
  difference BIGINT NOT NULL DEFAULT 0,
  settled BIGINT NOT NULL DEFAULT 0,
  first_day BIGINT NULL,
  values_from BIGINT NOT NULL DEFAULT 0,
  first_hours VARCHAR(8192) COLLATE "C" NOT NULL DEFAULT '',
  PRIMARY KEY (name)
);

CREATE TABLE IF NOT EXISTS activity_hours (
  name VARCHAR(32) COLLATE "C" NOT NULL,
  hour BIGINT NOT NULL,
  views BIGINT NOT NULL,
  late BIGINT NOT NULL,
  visitors BIGINT NULL,
  removed BIGINT NOT NULL DEFAULT 0,
  recounted VARCHAR(255) COLLATE "C" NULL,
  count_after BIGINT NOT NULL DEFAULT 19999,
  PRIMARY KEY (name, hour)
);

CREATE TABLE IF NOT EXISTS activity_days (
  name VARCHAR(32) COLLATE "C" NOT NULL,
  day BIGINT NOT NULL,
  views BIGINT NOT NULL,
  late BIGINT NOT NULL,
  visitors BIGINT NULL,
  imported VARCHAR(32) COLLATE "C" NULL,
  PRIMARY KEY (name, day)
);

CREATE TABLE IF NOT EXISTS activity_certificates (
  name VARCHAR(32) COLLATE "C" NOT NULL,
  day BIGINT NOT NULL,
  views BIGINT NULL,
  late BIGINT NULL,
  visitors BIGINT NULL,
  hours VARCHAR(2048) COLLATE "C" NULL,
  first_hour BIGINT NULL,
  end_hour BIGINT NULL,
  all_views BIGINT NULL,
  uncounted BIGINT NULL,
  issued BIGINT NULL,
  committed BIGINT NULL,
  quarantined BIGINT NULL,
  dropped BIGINT NULL,
  owed BIGINT NULL,
  lost BIGINT NULL,
  PRIMARY KEY (name, day)
);

CREATE TABLE IF NOT EXISTS activity_hour_values (
  name VARCHAR(32) COLLATE "C" NOT NULL,
  dimension VARCHAR(32) COLLATE "C" NOT NULL,
  hour BIGINT NOT NULL,
  value BYTEA NOT NULL,
  views BIGINT NOT NULL,
  PRIMARY KEY (name, dimension, hour, value)
);

CREATE TABLE IF NOT EXISTS activity_day_values (
  name VARCHAR(32) COLLATE "C" NOT NULL,
  dimension VARCHAR(32) COLLATE "C" NOT NULL,
  day BIGINT NOT NULL,
  value BYTEA NOT NULL,
  views BIGINT NOT NULL,
  PRIMARY KEY (name, dimension, day, value)
);

CREATE TABLE IF NOT EXISTS activity_closed_values (
  name VARCHAR(32) COLLATE "C" NOT NULL,
  day BIGINT NOT NULL,
  dimension VARCHAR(32) COLLATE "C" NOT NULL,
  views BIGINT NOT NULL,
  day_weight BIGINT NOT NULL,
  hour_weight BIGINT NOT NULL,
  PRIMARY KEY (name, day, dimension)
);

CREATE TABLE IF NOT EXISTS activity_notes (
  name VARCHAR(32) COLLATE "C" NOT NULL,
  day BIGINT NOT NULL,
  text VARCHAR(200) NOT NULL,
  PRIMARY KEY (name, day)
);
