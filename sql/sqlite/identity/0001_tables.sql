-- What tells this database from others: one row. id never changes: a process that may use several hosts compares it.
-- namespace begins the keys of this database in every cache; a copy of the database takes a new one. secret is half of what the
-- salts of visitors are made of.
CREATE TABLE IF NOT EXISTS wide_cache_identity (
  only_row INTEGER NOT NULL,
  id TEXT NOT NULL,
  namespace BLOB NOT NULL,
  secret BLOB NOT NULL,
  PRIMARY KEY (only_row)
) WITHOUT ROWID;

-- The newest marks that processes have put into caches: a cache shows a mark that is not here if another database uses the
-- same namespace.
CREATE TABLE IF NOT EXISTS wide_cache_marks (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  mark BLOB NOT NULL,
  UNIQUE (mark)
);
