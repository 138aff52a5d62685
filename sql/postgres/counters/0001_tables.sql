-- Counters. Times are milliseconds since the Unix epoch, by the database's clock.

-- One row a sharded counter. `id` is in its cache key, so that two databases may share a cache.
CREATE TABLE IF NOT EXISTS sharded_counters (
  name VARCHAR(32) COLLATE "C" NOT NULL,
  id BYTEA NOT NULL,
  shards INT NOT NULL,
  PRIMARY KEY (name)
);

-- Its shards, made when first used. A shard holds no more than its share of 2^53-1 among `of_shards`, so the sum
-- never passes it. Changed by: one shard at a time; or several, with the row of sharded_counters locked before them.
CREATE TABLE IF NOT EXISTS sharded_counter_shards (
  name VARCHAR(32) COLLATE "C" NOT NULL,
  shard INT NOT NULL,
  of_shards INT NOT NULL,
  value BIGINT NOT NULL,
  PRIMARY KEY (name, shard)
);

-- One row a process and day: the number of its newest transaction, so that one of unknown outcome is not done twice.
CREATE TABLE IF NOT EXISTS sharded_counter_lanes (
  lane BYTEA NOT NULL,
  sequence BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (lane)
);
CREATE INDEX IF NOT EXISTS sharded_counter_lanes_created_at ON sharded_counter_lanes (created_at);

-- One row a global counter: its newest generation. Locked before its shards.
CREATE TABLE IF NOT EXISTS global_counters (
  name VARCHAR(32) COLLATE "C" NOT NULL,
  generation BIGINT NOT NULL,
  shards INT NOT NULL,
  PRIMARY KEY (name)
);

-- The counter's persisted value is the greatest of its shards; all are of the newest generation.
CREATE TABLE IF NOT EXISTS global_counter_shards (
  name VARCHAR(32) COLLATE "C" NOT NULL,
  shard INT NOT NULL,
  generation BIGINT NOT NULL,
  value BIGINT NOT NULL,
  PRIMARY KEY (name, shard)
);

-- The newest generations: the token in the cache key of each, and the value that the one before it ended with.
CREATE TABLE IF NOT EXISTS global_counter_generations (
  name VARCHAR(32) COLLATE "C" NOT NULL,
  generation BIGINT NOT NULL,
  token BYTEA NOT NULL,
  seed BIGINT NOT NULL,
  PRIMARY KEY (name, generation)
);
