-- Site activity. Times are milliseconds since the Unix epoch (UTC), seconds are whole ones since then.

-- One row a visit, stored in the order of time, in which rows come and are removed. number: which one it is of all visits
-- of the name, in the order in which they came to SQL. visitor is NULL where it is unknown.
CREATE TABLE IF NOT EXISTS activities (
  name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  created_at BIGINT NOT NULL,
  number BIGINT NOT NULL,
  visitor BINARY(12) NULL,
  page VARCHAR(1024) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (name, created_at, number)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- What is summed up beside the rows, in the same transactions: how many views each second has (sums_only of them have no row,
-- because only sums are kept),
CREATE TABLE IF NOT EXISTS activity_seconds (
  name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  second BIGINT NOT NULL,
  views BIGINT NOT NULL,
  sums_only BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (name, second)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- and, per day, each visitor: the newest and the first second they were seen in, and the hours (bit 0: from 0:00
-- to 1:00).
-- last_slice is last_second divided by 300: an index on the second itself would change with each visit.
CREATE TABLE IF NOT EXISTS activity_visitors (
  name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  day BIGINT NOT NULL,
  visitor BINARY(12) NOT NULL,
  last_second BIGINT NOT NULL,
  last_slice BIGINT NOT NULL,
  first_second BIGINT NOT NULL DEFAULT 0,
  hours INT NOT NULL,
  PRIMARY KEY (name, day, visitor),
  KEY activity_visitors_last_slice (name, last_slice)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- One row a name, which every commit and every closing of a day changes: the oldest day (days since 1970) that is open, its
-- first hour, and the views of all time. changes counts those who came, so that on several nodes two at once are a conflict.
-- The books balance if the views of all hours, and uncounted, are the rows that the ledger has committed. uncounted: rows
-- that it had before the first visit. difference: how many more it had than that when a collector last looked. settled: rows
-- that it had before the first visit, and for the closed days. first_day: the oldest closed day with a visit. values_from:
-- the first hour whose values have not been removed by age.
CREATE TABLE IF NOT EXISTS activity_books (
  name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  open_day BIGINT NOT NULL,
  open_hour BIGINT NOT NULL DEFAULT 0,
  views BIGINT NOT NULL,
  changes BIGINT NOT NULL,
  uncounted BIGINT NOT NULL DEFAULT 0,
  difference BIGINT NOT NULL DEFAULT 0,
  settled BIGINT NOT NULL DEFAULT 0,
  first_day BIGINT NULL,
  values_from BIGINT NOT NULL DEFAULT 0,
  first_hours VARCHAR(8192) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  PRIMARY KEY (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- Totals that stay. Hours and days are counted from 1970. late: views of older, closed days among them. The visitors of an
-- hour are NULL until its day is closed; days are entered when they close. removed: views whose seconds and rows have been
-- removed by age. recounted: what the last recount of the hour's rows has found to differ; empty: nothing; NULL: there was
-- none. count_after: a commit that brings the views of an hour above it counts the hour's values, of which a view adds one
-- at most to each dimension.
CREATE TABLE IF NOT EXISTS activity_hours (
  name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  hour BIGINT NOT NULL,
  views BIGINT NOT NULL,
  late BIGINT NOT NULL,
  visitors BIGINT NULL,
  removed BIGINT NOT NULL DEFAULT 0,
  recounted VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NULL,
  count_after BIGINT NOT NULL DEFAULT 19999,
  PRIMARY KEY (name, hour)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- imported: the id of the import that the day came with; visitors are NULL then if it had none.
CREATE TABLE IF NOT EXISTS activity_days (
  name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  day BIGINT NOT NULL,
  views BIGINT NOT NULL,
  late BIGINT NOT NULL,
  visitors BIGINT NULL,
  imported VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NULL,
  PRIMARY KEY (name, day)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- What each closed day was when it closed, from the first one with visits on: its figures, those of its hours as JSON, and
-- the hour with which it ended. One with views also has the views of all days, uncounted as in activity_books, and all rows
-- of the ledger.
CREATE TABLE IF NOT EXISTS activity_certificates (
  name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  day BIGINT NOT NULL,
  views BIGINT NULL,
  late BIGINT NULL,
  visitors BIGINT NULL,
  hours VARCHAR(2048) CHARACTER SET ascii COLLATE ascii_bin NULL,
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
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- Views by the values of a dimension (page, referrer, …), never two dimensions together. The empty value has the views of
-- all values that are not listed one by one. Hours are kept for some days, days stay.
CREATE TABLE IF NOT EXISTS activity_hour_values (
  name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  dimension VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  hour BIGINT NOT NULL,
  value VARBINARY(255) NOT NULL,
  views BIGINT NOT NULL,
  PRIMARY KEY (name, dimension, hour, value)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE IF NOT EXISTS activity_day_values (
  name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  dimension VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  day BIGINT NOT NULL,
  value VARBINARY(255) NOT NULL,
  views BIGINT NOT NULL,
  PRIMARY KEY (name, dimension, day, value)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- What the values of a dimension were when a day was closed: the sum of their views, and that of views times a number made
-- of the value, of the day and of its hours.
CREATE TABLE IF NOT EXISTS activity_closed_values (
  name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  day BIGINT NOT NULL,
  dimension VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  views BIGINT NOT NULL,
  day_weight BIGINT NOT NULL,
  hour_weight BIGINT NOT NULL,
  PRIMARY KEY (name, day, dimension)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- What happened on a day, in the words of the site's owner.
CREATE TABLE IF NOT EXISTS activity_notes (
  name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  day BIGINT NOT NULL,
  text VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (name, day)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
