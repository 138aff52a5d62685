-- Hits: views per item. Items are bytes, the text in UTF-8; times are milliseconds since the Unix epoch (UTC).

-- All hits of an item. A transaction locks this row before those of the item's hours and days.
CREATE TABLE IF NOT EXISTS hits_counts (
  name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  item VARBINARY(255) NOT NULL,
  hits BIGINT NOT NULL,
  PRIMARY KEY (name, item),
  KEY hits_counts_top (name, hits)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- Who has viewed what in which window, so that it counts once. `viewing` is a hash of both; `times` says in how
-- many transactions it has come, so that the one that finds 1 knows that it is the first.
CREATE TABLE IF NOT EXISTS hits_viewings (
  name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  window_start BIGINT NOT NULL,
  viewing BINARY(16) NOT NULL,
  times BIGINT NOT NULL,
  PRIMARY KEY (name, window_start, viewing)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- Hits by hour, kept for eight days, and by day, which stay. Hours and days are counted from 1970.
CREATE TABLE IF NOT EXISTS hits_hours (
  name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  hour BIGINT NOT NULL,
  item VARBINARY(255) NOT NULL,
  hits BIGINT NOT NULL,
  PRIMARY KEY (name, hour, item),
  KEY hits_hours_item (name, item)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE IF NOT EXISTS hits_days (
  name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  day BIGINT NOT NULL,
  item VARBINARY(255) NOT NULL,
  hits BIGINT NOT NULL,
  PRIMARY KEY (name, day, item),
  KEY hits_days_item (name, item)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- Lists of hits of another program that are imported once: SHA-256 of the file, and how many of its records are done.
CREATE TABLE IF NOT EXISTS hits_imports (
  name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  id VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  digest BINARY(32) NOT NULL,
  records BIGINT NOT NULL,
  ended TINYINT NOT NULL,
  PRIMARY KEY (name, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
