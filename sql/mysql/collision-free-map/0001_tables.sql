-- Collision-free maps and export queues. A hash is the first 32 bits of the SHA-256 of an encoded key.

-- Which maps there are, in how many buckets, and which process processes them by itself, until when.
CREATE TABLE IF NOT EXISTS collision_free_maps (
  map VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  buckets INT NOT NULL,
  lease_owner BINARY(16) NULL,
  lease_until BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (map)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- Which hashes a bucket holds: first_hash to last_hash, both within.
CREATE TABLE IF NOT EXISTS collision_free_map_buckets (
  map VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  bucket INT NOT NULL,
  first_hash BIGINT NOT NULL,
  last_hash BIGINT NOT NULL,
  PRIMARY KEY (map, bucket)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- Updates that wait to be combined, in the order of their ids.
CREATE TABLE IF NOT EXISTS collision_free_map_queue (
  id BIGINT NOT NULL AUTO_INCREMENT,
  map VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  hash BIGINT NOT NULL,
  map_key VARBINARY(700) NOT NULL,
  map_value BLOB NOT NULL,
  PRIMARY KEY (id),
  KEY collision_free_map_queue_hash (map, hash)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- The value of a key without what is queued.
CREATE TABLE IF NOT EXISTS collision_free_map_values (
  map VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  hash BIGINT NOT NULL,
  map_key VARBINARY(700) NOT NULL,
  map_value BLOB NOT NULL,
  PRIMARY KEY (map, hash, map_key)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- Updates that could not be combined, and why.
CREATE TABLE IF NOT EXISTS collision_free_map_parked (
  id BIGINT NOT NULL,
  map VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  hash BIGINT NOT NULL,
  map_key VARBINARY(700) NOT NULL,
  map_value BLOB NOT NULL,
  reason VARCHAR(500) CHARACTER SET utf8mb4 NOT NULL,
  parked_at BIGINT NOT NULL,
  PRIMARY KEY (map, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- As for maps.
CREATE TABLE IF NOT EXISTS export_queues (
  queue VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  buckets INT NOT NULL,
  lease_owner BINARY(16) NULL,
  lease_until BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (queue)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE IF NOT EXISTS export_queue_buckets (
  queue VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  bucket INT NOT NULL,
  first_hash BIGINT NOT NULL,
  last_hash BIGINT NOT NULL,
  PRIMARY KEY (queue, bucket)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- What is to be exported. 2^53 - 1 stands for a version not given yet, so that those given come first.
CREATE TABLE IF NOT EXISTS export_queue_entries (
  id BIGINT NOT NULL AUTO_INCREMENT,
  queue VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  hash BIGINT NOT NULL,
  entry_key VARBINARY(700) NOT NULL,
  entry_value BLOB NOT NULL,
  version BIGINT NOT NULL DEFAULT 9007199254740991,
  PRIMARY KEY (id),
  KEY export_queue_entries_hash (queue, hash, version)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- Hashes that nobody else may export until a time: their exporter is at work, or has failed and rests.
-- How often it has failed in a row, when last, and why.
CREATE TABLE IF NOT EXISTS export_queue_leases (
  queue VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  holder BINARY(16) NOT NULL,
  first_hash BIGINT NOT NULL,
  last_hash BIGINT NOT NULL,
  held_until BIGINT NOT NULL,
  failures INT NOT NULL,
  resting TINYINT NOT NULL DEFAULT 0,
  failed_at BIGINT NULL,
  reason VARCHAR(500) CHARACTER SET utf8mb4 NULL,
  PRIMARY KEY (queue, holder)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- One row a queue: the last version given.
CREATE TABLE IF NOT EXISTS export_queue_versions (
  queue VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  last_version BIGINT NOT NULL,
  PRIMARY KEY (queue)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
