-- Sequences: one row each, its newest generation. token names the generation's counter in the cache, NULL where
-- numbers come from this row alone. base is the number before its first; nothing above reserved is handed out.
-- established: nobody believes in an earlier generation any more.
CREATE TABLE IF NOT EXISTS sequence_generations (
  name VARCHAR(32) COLLATE "C" NOT NULL,
  generation BIGINT NOT NULL,
  token BYTEA NULL,
  base BIGINT NOT NULL,
  reserved BIGINT NOT NULL,
  established SMALLINT NOT NULL,
  PRIMARY KEY (name)
);
