/**
 * What SQLite can say, by its primary result codes, https://sqlite.org/rescode.html. Extended ones
 * begin with them.
 */
import { rows, type Said } from '../servers/said.js'

export const SAID: readonly Said[] = rows([
  [
    'lock',
    'SQLITE_BUSY SQLITE_LOCKED',
    'Another process holds the file: keep its transactions short',
  ],
  ['capacity', 'SQLITE_FULL SQLITE_NOMEM', 'Free space on its disk, or memory'],
  ['capacity', 'SQLITE_READONLY', 'Let this process write to the file and to its folder'],
  [
    'capacity',
    'SQLITE_CANTOPEN',
    'Check that the folder is there and that this process may write in it',
  ],
  ['capacity', 'SQLITE_IOERR', 'Check the disk, and keep the file on a local one'],
  ['usage', 'SQLITE_CORRUPT', 'Restore the file from a backup'],
  ['usage', 'SQLITE_NOTADB SQLITE_FORMAT', 'Name another file, or none that is there'],
  ['data', 'SQLITE_CONSTRAINT', 'Change the row, or the constraint'],
  ['data', 'SQLITE_TOOBIG SQLITE_RANGE SQLITE_MISMATCH', 'Send smaller values, or fewer at once'],
  ['usage', 'SQLITE_SCHEMA SQLITE_INTERRUPT SQLITE_ABORT SQLITE_PROTOCOL', 'Retry it'],
  ['usage', 'SQLITE_PERM', 'Let this process write to the file and to its folder'],
  [
    'usage',
    'SQLITE_AUTH SQLITE_MISUSE SQLITE_INTERNAL SQLITE_NOLFS SQLITE_NOTFOUND ' + 'SQLITE_EMPTY',
    'Report it with its message',
  ],
  [
    'usage',
    'SQLITE_ERROR',
    'Correct the statement. If a table is missing, run `wide-cache migrate`',
  ],
])
