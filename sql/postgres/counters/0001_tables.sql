-- What the tables and columns mean is said in sql/mysql/counters/0001_tables.sql.

CREATE TABLE IF NOT EXISTS sharded_counters (
  name VARCHAR(32) COLLATE "C" NOT NULL,
  id BYTEA NOT NULL,
  shards INT NOT NULL,
  PRIMARY KEY (name)
);

CREATE TABLE IF NOT EXISTS sharded_counter_shards (
  name VARCHAR(32) COLLATE "C" NOT NULL,
  shard INT NOT NULL,
  of_shards INT NOT NULL,
  value BIGINT NOT NULL,
  PRIMARY KEY (name, shard)
);

CREATE TABLE IF NOT EXISTS sharded_counter_lanes (
  lane BYTEA NOT NULL,
  sequence BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (lane)
);
CREATE INDEX IF NOT EXISTS sharded_counter_lanes_created_at ON sharded_counter_lanes (created_at);

CREATE TABLE IF NOT EXISTS global_counters (
  name VARCHAR(32) COLLATE "C" NOT NULL,
  generation BIGINT NOT NULL,
  shards INT NOT NULL,
  PRIMARY KEY (name)
);

CREATE TABLE IF NOT EXISTS global_counter_shards (
  name VARCHAR(32) COLLATE "C" NOT NULL,
  shard INT NOT NULL,
  generation BIGINT NOT NULL,
  value BIGINT NOT NULL,
  PRIMARY KEY (name, shard)
);

CREATE TABLE IF NOT EXISTS global_counter_generations (
  name VARCHAR(32) COLLATE "C" NOT NULL,
  generation BIGINT NOT NULL,
  token BYTEA NOT NULL,
  seed BIGINT NOT NULL,
  PRIMARY KEY (name, generation)
);
