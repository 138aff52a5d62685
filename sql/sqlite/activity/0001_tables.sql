-- Site activity. Times are milliseconds since the Unix epoch (UTC), seconds are whole ones since then.

-- One row a visit, stored in the order of time, in which rows come and are removed. number: which one it is of all visits
-- of the name, in the order in which they came to SQL. visitor is NULL where it is unknown.
CREATE TABLE IF NOT EXISTS activities (
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  number INTEGER NOT NULL,
  visitor BLOB NULL,
  page TEXT NOT NULL,
  PRIMARY KEY (name, created_at, number)
) WITHOUT ROWID;

-- What is summed up beside the rows, in the same transactions: how many views each second has (sums_only of them have no row,
-- because only sums are kept),
CREATE TABLE IF NOT EXISTS activity_seconds (
  name TEXT NOT NULL,
  second INTEGER NOT NULL,
  views INTEGER NOT NULL,
  sums_only INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (name, second)
) WITHOUT ROWID;

-- and, per day, each visitor: the newest and the first second they were seen in, and the hours (bit 0: from 0:00
-- to 1:00).
-- last_slice is last_second divided by 300: an index on the second itself would change with each visit.
CREATE TABLE IF NOT EXISTS activity_visitors (
  name TEXT NOT NULL,
  day INTEGER NOT NULL,
  visitor BLOB NOT NULL,
  last_second INTEGER NOT NULL,
  last_slice INTEGER NOT NULL,
  first_second INTEGER NOT NULL DEFAULT 0,
  hours INTEGER NOT NULL,
  PRIMARY KEY (name, day, visitor)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS activity_visitors_last_slice ON activity_visitors (name, last_slice);

-- One row a name, which every commit and every closing of a day changes: the oldest day (days since 1970) that is open, its
-- first hour, and the views of all time. changes counts those who came, so that on several nodes two at once are a conflict.
-- The books balance if the views of all hours, and uncounted, are the rows that the ledger has committed. uncounted: rows
-- that it had before the first visit. difference: how many more it had than that when a collector last looked. settled: rows
-- that it had before the first visit, and for the closed days. first_day: the oldest closed day with a visit. values_from:
-- the first hour whose values have not been removed by age.
CREATE TABLE IF NOT EXISTS activity_books (
  name TEXT NOT NULL,
  open_day INTEGER NOT NULL,
  open_hour INTEGER NOT NULL DEFAULT 0,
  views INTEGER NOT NULL,
  changes INTEGER NOT NULL,
  uncounted INTEGER NOT NULL DEFAULT 0,
  difference INTEGER NOT NULL DEFAULT 0,
  settled INTEGER NOT NULL DEFAULT 0,
  first_day INTEGER NULL,
  values_from INTEGER NOT NULL DEFAULT 0,
  first_hours TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (name)
) WITHOUT ROWID;

-- Totals that stay. Hours and days are counted from 1970. late: views of older, closed days among them. The visitors of an
-- hour are NULL until its day is closed; days are entered when they close. removed: views whose seconds and rows have been
-- removed by age. recounted: what the last recount of the hour's rows has found to differ; empty: nothing; NULL: there was
-- none. count_after: a commit that brings the views of an hour above it counts the hour's values, of which a view adds one
-- at most to each dimension.
CREATE TABLE IF NOT EXISTS activity_hours (
  name TEXT NOT NULL,
  hour INTEGER NOT NULL,
  views INTEGER NOT NULL,
  late INTEGER NOT NULL,
  visitors INTEGER NULL,
  removed INTEGER NOT NULL DEFAULT 0,
  recounted TEXT NULL,
  count_after INTEGER NOT NULL DEFAULT 19999,
  PRIMARY KEY (name, hour)
) WITHOUT ROWID;

-- imported: the id of the import that the day came with; visitors are NULL then if it had none.
CREATE TABLE IF NOT EXISTS activity_days (
  name TEXT NOT NULL,
  day INTEGER NOT NULL,
  views INTEGER NOT NULL,
  late INTEGER NOT NULL,
  visitors INTEGER NULL,
  imported TEXT NULL,
  PRIMARY KEY (name, day)
) WITHOUT ROWID;

-- What each closed day was when it closed, from the first one with visits on: its figures, those of its hours as JSON, and
-- the hour with which it ended. One with views also has the views of all days, uncounted as in activity_books, and all rows
-- of the ledger.
CREATE TABLE IF NOT EXISTS activity_certificates (
  name TEXT NOT NULL,
  day INTEGER NOT NULL,
  views INTEGER NULL,
  late INTEGER NULL,
  visitors INTEGER NULL,
  hours TEXT NULL,
  first_hour INTEGER NULL,
  end_hour INTEGER NULL,
  all_views INTEGER NULL,
  uncounted INTEGER NULL,
  issued INTEGER NULL,
  committed INTEGER NULL,
  quarantined INTEGER NULL,
  dropped INTEGER NULL,
  owed INTEGER NULL,
  lost INTEGER NULL,
  PRIMARY KEY (name, day)
) WITHOUT ROWID;

-- Views by the values of a dimension (page, referrer, …), never two dimensions together. The empty value has the views of
-- all values that are not listed one by one. Hours are kept for some days, days stay.
CREATE TABLE IF NOT EXISTS activity_hour_values (
  name TEXT NOT NULL,
  dimension TEXT NOT NULL,
  hour INTEGER NOT NULL,
  value BLOB NOT NULL,
  views INTEGER NOT NULL,
  PRIMARY KEY (name, dimension, hour, value)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS activity_day_values (
  name TEXT NOT NULL,
  dimension TEXT NOT NULL,
  day INTEGER NOT NULL,
  value BLOB NOT NULL,
  views INTEGER NOT NULL,
  PRIMARY KEY (name, dimension, day, value)
) WITHOUT ROWID;

-- What the values of a dimension were when a day was closed: the sum of their views, and that of views times a number made
-- of the value, of the day and of its hours.
CREATE TABLE IF NOT EXISTS activity_closed_values (
  name TEXT NOT NULL,
  day INTEGER NOT NULL,
  dimension TEXT NOT NULL,
  views INTEGER NOT NULL,
  day_weight INTEGER NOT NULL,
  hour_weight INTEGER NOT NULL,
  PRIMARY KEY (name, day, dimension)
) WITHOUT ROWID;

-- What happened on a day, in the words of the site's owner.
CREATE TABLE IF NOT EXISTS activity_notes (
  name TEXT NOT NULL,
  day INTEGER NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (name, day)
) WITHOUT ROWID;
