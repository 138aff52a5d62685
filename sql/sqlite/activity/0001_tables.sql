-- Site activity. Times are milliseconds since the Unix epoch (UTC), seconds are whole ones since then.

-- One row a visit. visitor is NULL where it is unknown.
CREATE TABLE IF NOT EXISTS activities (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  visitor BLOB NULL,
  page TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS activities_created_at ON activities (name, created_at);

-- What is summed up beside the rows, in the same transactions: how many rows of `activities` each second has,
CREATE TABLE IF NOT EXISTS activity_seconds (
  name TEXT NOT NULL,
  second INTEGER NOT NULL,
  views INTEGER NOT NULL,
  PRIMARY KEY (name, second)
) WITHOUT ROWID;

-- and the newest second in which each visitor has a row.
CREATE TABLE IF NOT EXISTS activity_visitors (
  name TEXT NOT NULL,
  visitor BLOB NOT NULL,
  last_second INTEGER NOT NULL,
  PRIMARY KEY (name, visitor)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS activity_visitors_last_second ON activity_visitors (name, last_second);
