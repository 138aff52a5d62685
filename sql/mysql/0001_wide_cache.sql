-- The ledger of wide caches. Times are milliseconds since the Unix epoch, by the database's clock.

-- One row a grid: the geometry that all its processes must agree on.
CREATE TABLE IF NOT EXISTS wide_cache_grids (
  name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  width INT NOT NULL,
  layer_seconds INT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- The newest drained layer, and who is draining. cache_id is zero for a shared cache; a grid on memory: has its own.
CREATE TABLE IF NOT EXISTS wide_cache_watermarks (
  grid VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  cache_id BINARY(16) NOT NULL,
  layer BIGINT NOT NULL,
  moved_at BIGINT NOT NULL,
  lease_owner BINARY(16) NULL,
  lease_until BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (grid, cache_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- One row a writer. Every frame up to prefix is settled; counts are rows. The prefix may pass what is missing
-- below aging_floor a cell TTL after aging_since.
CREATE TABLE IF NOT EXISTS wide_cache_writers (
  grid VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  writer BINARY(16) NOT NULL,
  prefix BIGINT NOT NULL DEFAULT -1,
  issued BIGINT NOT NULL DEFAULT 0,
  committed BIGINT NOT NULL DEFAULT 0,
  duplicate BIGINT NOT NULL DEFAULT 0,
  quarantined BIGINT NOT NULL DEFAULT 0,
  dropped BIGINT NOT NULL DEFAULT 0,
  lost BIGINT NOT NULL DEFAULT 0,
  floor BIGINT NOT NULL DEFAULT 0,
  floor_issued BIGINT NOT NULL DEFAULT 0,
  aging_floor BIGINT NOT NULL DEFAULT 0,
  aging_issued BIGINT NOT NULL DEFAULT 0,
  aging_since BIGINT NOT NULL DEFAULT 0,
  last_seen BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (grid, writer),
  KEY wide_cache_writers_last_seen (last_seen)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- The settled frames above their writer's prefix.
CREATE TABLE IF NOT EXISTS wide_cache_frames (
  grid VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  writer BINARY(16) NOT NULL,
  sequence BIGINT NOT NULL,
  row_count INT NOT NULL,
  PRIMARY KEY (grid, writer, sequence)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- Frames whose rows SQL refused, and bytes that are no frame (writer and sequence are NULL).
CREATE TABLE IF NOT EXISTS wide_cache_quarantine (
  id BIGINT NOT NULL AUTO_INCREMENT,
  grid VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  writer BINARY(16) NULL,
  sequence BIGINT NULL,
  row_count INT NOT NULL,
  reason VARCHAR(500) CHARACTER SET utf8mb4 NOT NULL,
  bytes MEDIUMBLOB NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (id),
  KEY wide_cache_quarantine_created_at (created_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
