-- The ledger of wide caches. Times are milliseconds since the Unix epoch, by the database's clock.

-- One row a grid: the geometry that all its processes must agree on.
CREATE TABLE IF NOT EXISTS wide_cache_grids (
  name TEXT NOT NULL PRIMARY KEY,
  width INTEGER NOT NULL,
  layer_seconds INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) WITHOUT ROWID;

-- The newest drained layer, and who is draining. cache_id is zero for a shared cache; a grid on memory: has its own.
CREATE TABLE IF NOT EXISTS wide_cache_watermarks (
  grid TEXT NOT NULL,
  cache_id BLOB NOT NULL,
  layer INTEGER NOT NULL,
  moved_at INTEGER NOT NULL,
  lease_owner BLOB NULL,
  lease_until INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (grid, cache_id)
) WITHOUT ROWID;

-- One row a writer. Every frame up to prefix is settled; counts are rows. The prefix may pass what is missing
-- below aging_floor a cell TTL after aging_since.
CREATE TABLE IF NOT EXISTS wide_cache_writers (
  grid TEXT NOT NULL,
  writer BLOB NOT NULL,
  prefix INTEGER NOT NULL DEFAULT -1,
  issued INTEGER NOT NULL DEFAULT 0,
  committed INTEGER NOT NULL DEFAULT 0,
  duplicate INTEGER NOT NULL DEFAULT 0,
  quarantined INTEGER NOT NULL DEFAULT 0,
  dropped INTEGER NOT NULL DEFAULT 0,
  lost INTEGER NOT NULL DEFAULT 0,
  floor INTEGER NOT NULL DEFAULT 0,
  floor_issued INTEGER NOT NULL DEFAULT 0,
  aging_floor INTEGER NOT NULL DEFAULT 0,
  aging_issued INTEGER NOT NULL DEFAULT 0,
  aging_since INTEGER NOT NULL DEFAULT 0,
  last_seen INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (grid, writer)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS wide_cache_writers_last_seen ON wide_cache_writers (last_seen);

-- The settled frames above their writer's prefix.
CREATE TABLE IF NOT EXISTS wide_cache_frames (
  grid TEXT NOT NULL,
  writer BLOB NOT NULL,
  sequence INTEGER NOT NULL,
  row_count INTEGER NOT NULL,
  PRIMARY KEY (grid, writer, sequence)
) WITHOUT ROWID;

-- Frames whose rows SQL refused, and bytes that are no frame (writer and sequence are NULL).
CREATE TABLE IF NOT EXISTS wide_cache_quarantine (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  grid TEXT NOT NULL,
  writer BLOB NULL,
  sequence INTEGER NULL,
  row_count INTEGER NOT NULL,
  reason TEXT NOT NULL,
  bytes BLOB NOT NULL,
  created_at INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS wide_cache_quarantine_created_at ON wide_cache_quarantine (created_at);
