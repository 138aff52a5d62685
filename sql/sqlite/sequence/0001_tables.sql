-- Sequences: one row each, its newest generation. token names the generation's counter in the cache, NULL where
-- numbers come from this row alone. base is the number before its first; nothing above reserved is handed out.
-- established: nobody believes in an earlier generation any more.
CREATE TABLE IF NOT EXISTS sequence_generations (
  name TEXT NOT NULL PRIMARY KEY,
  generation INTEGER NOT NULL,
  token BLOB NULL,
  base INTEGER NOT NULL,
  reserved INTEGER NOT NULL,
  established INTEGER NOT NULL
) WITHOUT ROWID;
