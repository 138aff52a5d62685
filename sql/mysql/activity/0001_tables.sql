-- Site activity. Times are milliseconds since the Unix epoch (UTC), seconds are whole ones since then.

-- One row a visit. visitor is NULL where it is unknown.
CREATE TABLE IF NOT EXISTS activities (
  id BIGINT NOT NULL AUTO_INCREMENT,
  name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  created_at BIGINT NOT NULL,
  visitor BINARY(12) NULL,
  page VARCHAR(1024) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (id),
  KEY activities_created_at (name, created_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- What is summed up beside the rows, in the same transactions: how many rows of `activities` each second has,
CREATE TABLE IF NOT EXISTS activity_seconds (
  name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  second BIGINT NOT NULL,
  views BIGINT NOT NULL,
  PRIMARY KEY (name, second)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- and the newest second in which each visitor has a row.
CREATE TABLE IF NOT EXISTS activity_visitors (
  name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  visitor BINARY(12) NOT NULL,
  last_second BIGINT NOT NULL,
  PRIMARY KEY (name, visitor),
  KEY activity_visitors_last_second (name, last_second)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
