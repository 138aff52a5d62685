-- Hits: views per item. Items are bytes, the text in UTF-8; times are milliseconds since the Unix epoch (UTC).

-- All hits of an item. A transaction locks this row before those of the item's hours and days.
CREATE TABLE IF NOT EXISTS hits_counts (
  name TEXT NOT NULL,
  item BLOB NOT NULL,
  hits INTEGER NOT NULL,
  PRIMARY KEY (name, item)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS hits_counts_top ON hits_counts (name, hits);

-- Who has viewed what in which window, so that it counts once. `viewing` is a hash of both; `times` says in how
-- many transactions it has come, so that the one that finds 1 knows that it is the first.
CREATE TABLE IF NOT EXISTS hits_viewings (
  name TEXT NOT NULL,
  window_start INTEGER NOT NULL,
  viewing BLOB NOT NULL,
  times INTEGER NOT NULL,
  PRIMARY KEY (name, window_start, viewing)
) WITHOUT ROWID;

-- Hits by hour, kept for eight days, and by day, which stay. Hours and days are counted from 1970.
CREATE TABLE IF NOT EXISTS hits_hours (
  name TEXT NOT NULL,
  hour INTEGER NOT NULL,
  item BLOB NOT NULL,
  hits INTEGER NOT NULL,
  PRIMARY KEY (name, hour, item)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS hits_hours_item ON hits_hours (name, item);

CREATE TABLE IF NOT EXISTS hits_days (
  name TEXT NOT NULL,
  day INTEGER NOT NULL,
  item BLOB NOT NULL,
  hits INTEGER NOT NULL,
  PRIMARY KEY (name, day, item)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS hits_days_item ON hits_days (name, item);

-- Lists of hits of another program that are imported once: SHA-256 of the file, and how many of its records are done.
CREATE TABLE IF NOT EXISTS hits_imports (
  name TEXT NOT NULL,
  id TEXT NOT NULL,
  digest BLOB NOT NULL,
  records INTEGER NOT NULL,
  ended INTEGER NOT NULL,
  PRIMARY KEY (name, id)
) WITHOUT ROWID;
