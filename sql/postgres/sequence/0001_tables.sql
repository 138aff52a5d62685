-- What the tables and columns mean is said in sql/mysql/sequence/0001_tables.sql.

CREATE TABLE IF NOT EXISTS sequence_generations (
  name VARCHAR(32) COLLATE "C" NOT NULL,
  generation BIGINT NOT NULL,
  token BYTEA NULL,
  base BIGINT NOT NULL,
  reserved BIGINT NOT NULL,
  established SMALLINT NOT NULL,
  PRIMARY KEY (name)
);
