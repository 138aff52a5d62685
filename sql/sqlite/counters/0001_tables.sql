-- Counters. Times are milliseconds since the Unix epoch, by the database's clock.

-- One row a sharded counter. `id` is in its cache key, so that two databases may share a cache.
CREATE TABLE IF NOT EXISTS sharded_counters (
  name TEXT NOT NULL PRIMARY KEY,
  id BLOB NOT NULL,
  shards INTEGER NOT NULL
) WITHOUT ROWID;

-- Its shards, made when first used. A shard holds no more than its share of 2^53-1 among `of_shards`, so the sum
-- never passes it.
CREATE TABLE IF NOT EXISTS sharded_counter_shards (
  name TEXT NOT NULL,
  shard INTEGER NOT NULL,
  of_shards INTEGER NOT NULL,
  value INTEGER NOT NULL,
  PRIMARY KEY (name, shard)
) WITHOUT ROWID;

-- One row a process and day: the number of its newest transaction, so that one of unknown outcome is not done twice.
CREATE TABLE IF NOT EXISTS sharded_counter_lanes (
  lane BLOB NOT NULL PRIMARY KEY,
  sequence INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS sharded_counter_lanes_created_at ON sharded_counter_lanes (created_at);

-- One row a global counter: its newest generation.
CREATE TABLE IF NOT EXISTS global_counters (
  name TEXT NOT NULL PRIMARY KEY,
  generation INTEGER NOT NULL,
  shards INTEGER NOT NULL
) WITHOUT ROWID;

-- The counter's persisted value is the greatest of its shards; all are of the newest generation.
CREATE TABLE IF NOT EXISTS global_counter_shards (
  name TEXT NOT NULL,
  shard INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  value INTEGER NOT NULL,
  PRIMARY KEY (name, shard)
) WITHOUT ROWID;

-- The newest generations: the token in the cache key of each, and the value that the one before it ended with.
CREATE TABLE IF NOT EXISTS global_counter_generations (
  name TEXT NOT NULL,
  generation INTEGER NOT NULL,
  token BLOB NOT NULL,
  seed INTEGER NOT NULL,
  PRIMARY KEY (name, generation)
) WITHOUT ROWID;
