/** What PostgreSQL, PgBouncer and pg can say. */
import { rows, type Said } from '../servers/said.js'

const AGAIN = 'The whole transaction was rolled back: retry its work'

/**
 * By SQLSTATE, https://www.postgresql.org/docs/current/errcodes-appendix.html. Two characters stand
 * for all that begin with them and have no row.
 */
export const SAID: readonly Said[] = rows([
  [
    'unreachable',
    '08',
    'Check the network, and proxies on the way. PgBouncer must pool by session or by transaction',
  ],
  ['unreachable', '57014', 'Raise statement_timeout at the server, and check its load'],
  ['unreachable', '57P01 57P02 57P03', 'Unless the server was restarted, find out who did it'],
  ['unreachable', '57P05', 'Do nothing: the next call uses another one'],
  [
    'unreachable',
    '25P03 25P04',
    'Do slow work before the transaction, and check that nothing blocks the event loop',
  ],
  ['usage', '28P01', 'Check user name and password'],
  [
    'usage',
    '28000',
    'Check the user name, and that pg_hba.conf lets this user in from this host. Where it asks ' +
      'for TLS, add ?sslmode=require to the URL',
  ],
  ['usage', '3D000', 'Check the name of the database, or make it (CREATE DATABASE "%")'],
  [
    'usage',
    '42501',
    'Processes need CONNECT on the database, and SELECT, INSERT, UPDATE and DELETE on the ' +
      'tables. What makes the tables, such as `wide-cache migrate`, also needs CREATE on the ' +
      'schema',
  ],
  [
    'usage',
    'DEPTH_ZERO_SELF_SIGNED_CERT SELF_SIGNED_CERT_IN_CHAIN ' +
      'UNABLE_TO_GET_ISSUER_CERT_LOCALLY UNABLE_TO_VERIFY_LEAF_SIGNATURE ' +
      'CERT_HAS_EXPIRED',
    'Name the authority with sslrootcert, or encrypt without verifying: sslmode=require',
  ],
  [
    'usage',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'Connect by that name, or verify only the authority: sslmode=verify-ca',
  ],
  ['lock', '40001 40P01', AGAIN],
  ['lock', '55P03', `${AGAIN}. Keep transactions short`],
  ['capacity', '25006', 'Name the server that takes writes, or make this one writable'],
  ['capacity', '53100', 'Free space where the server keeps its data'],
  ['capacity', '53300', 'Raise max_connections at the server, or lower connection_limit here'],
  ['capacity', '53', 'Give it more of what the message names'],
  // XX000 is all that a full disk says at the start of a connection.
  ['capacity', '58030 XX000', "Read the server's log"],
  ['data', '22 42804', 'Check the value, or change the column'],
  ['data', '23 44 P0001', 'Change the row, or what refuses it'],
  ['data', '54', 'Send smaller values, or fewer at once'],
  ['usage', '42P01', 'Run `wide-cache migrate`, or make the table if it is your own'],
])
