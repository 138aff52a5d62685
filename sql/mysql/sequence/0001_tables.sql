-- Sequences: one row each, its newest generation. token names the generation's counter in the cache, NULL where
-- numbers come from this row alone. base is the number before its first; nothing above reserved is handed out.
-- established: nobody believes in an earlier generation any more.
CREATE TABLE IF NOT EXISTS sequence_generations (
  name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  generation BIGINT NOT NULL,
  token BINARY(16) NULL,
  base BIGINT NOT NULL,
  reserved BIGINT NOT NULL,
  established TINYINT NOT NULL,
  PRIMARY KEY (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
