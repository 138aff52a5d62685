-- Collision-free maps and export queues. A hash is the first 32 bits of the SHA-256 of an encoded key.

-- Which maps there are, in how many buckets, and which process processes them by itself, until when.
CREATE TABLE IF NOT EXISTS collision_free_maps (
  map TEXT NOT NULL,
  buckets INTEGER NOT NULL,
  lease_owner BLOB NULL,
  lease_until INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (map)
) WITHOUT ROWID;

-- Which hashes a bucket holds: first_hash to last_hash, both within.
CREATE TABLE IF NOT EXISTS collision_free_map_buckets (
  map TEXT NOT NULL,
  bucket INTEGER NOT NULL,
  first_hash INTEGER NOT NULL,
  last_hash INTEGER NOT NULL,
  PRIMARY KEY (map, bucket)
) WITHOUT ROWID;

-- Updates that wait to be combined, in the order of their ids.
CREATE TABLE IF NOT EXISTS collision_free_map_queue (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  map TEXT NOT NULL,
  hash INTEGER NOT NULL,
  map_key BLOB NOT NULL,
  map_value BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS collision_free_map_queue_hash ON collision_free_map_queue (map, hash);

-- The value of a key without what is queued.
CREATE TABLE IF NOT EXISTS collision_free_map_values (
  map TEXT NOT NULL,
  hash INTEGER NOT NULL,
  map_key BLOB NOT NULL,
  map_value BLOB NOT NULL,
  PRIMARY KEY (map, hash, map_key)
) WITHOUT ROWID;

-- Updates that could not be combined, and why.
CREATE TABLE IF NOT EXISTS collision_free_map_parked (
  id INTEGER NOT NULL,
  map TEXT NOT NULL,
  hash INTEGER NOT NULL,
  map_key BLOB NOT NULL,
  map_value BLOB NOT NULL,
  reason TEXT NOT NULL,
  parked_at INTEGER NOT NULL,
  PRIMARY KEY (map, id)
) WITHOUT ROWID;

-- As for maps.
CREATE TABLE IF NOT EXISTS export_queues (
  queue TEXT NOT NULL,
  buckets INTEGER NOT NULL,
  lease_owner BLOB NULL,
  lease_until INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (queue)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS export_queue_buckets (
  queue TEXT NOT NULL,
  bucket INTEGER NOT NULL,
  first_hash INTEGER NOT NULL,
  last_hash INTEGER NOT NULL,
  PRIMARY KEY (queue, bucket)
) WITHOUT ROWID;

-- What is to be exported. 2^53 - 1 stands for a version not given yet, so that those given come first.
CREATE TABLE IF NOT EXISTS export_queue_entries (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  queue TEXT NOT NULL,
  hash INTEGER NOT NULL,
  entry_key BLOB NOT NULL,
  entry_value BLOB NOT NULL,
  version INTEGER NOT NULL DEFAULT 9007199254740991
);
CREATE INDEX IF NOT EXISTS export_queue_entries_hash ON export_queue_entries (queue, hash, version);

-- Hashes that nobody else may export until a time: their exporter is at work, or has failed and rests.
-- How often it has failed in a row, when last, and why.
CREATE TABLE IF NOT EXISTS export_queue_leases (
  queue TEXT NOT NULL,
  holder BLOB NOT NULL,
  first_hash INTEGER NOT NULL,
  last_hash INTEGER NOT NULL,
  held_until INTEGER NOT NULL,
  failures INTEGER NOT NULL,
  resting INTEGER NOT NULL DEFAULT 0,
  failed_at INTEGER NULL,
  reason TEXT NULL,
  PRIMARY KEY (queue, holder)
) WITHOUT ROWID;

-- One row a queue: the last version given.
CREATE TABLE IF NOT EXISTS export_queue_versions (
  queue TEXT NOT NULL,
  last_version INTEGER NOT NULL,
  PRIMARY KEY (queue)
) WITHOUT ROWID;
