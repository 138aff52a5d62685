-- What tells this database from others: one row. id never changes: a process that may use several hosts compares it.
-- namespace begins the keys of this database in every cache; a copy of the database takes a new one. secret is half of what the
-- salts of visitors are made of.
CREATE TABLE IF NOT EXISTS wide_cache_identity (
  only_row INT NOT NULL,
  id VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  namespace BINARY(16) NOT NULL,
  secret BINARY(32) NOT NULL,
  PRIMARY KEY (only_row)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- The newest marks that processes have put into caches: a cache shows a mark that is not here if another database uses the
-- same namespace.
CREATE TABLE IF NOT EXISTS wide_cache_marks (
  number BIGINT NOT NULL AUTO_INCREMENT,
  mark BINARY(16) NOT NULL,
  PRIMARY KEY (number),
  UNIQUE KEY wide_cache_marks_mark (mark)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
