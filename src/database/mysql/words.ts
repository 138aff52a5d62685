import { refusedValue } from '../../support/options.js'
import type { ProductWords } from '../servers/product.js'
import { ERRORS } from './errors.js'
import type { MysqlOptions } from './options.js'

const CUT = 'Check that host and port are those of a MySQL server'
const LET_IN =
  'Check user name and password, and that the server lets this user in from this host. A user ' +
  'who has to use TLS (REQUIRE SSL) needs ?ssl-mode=required in the URL'
const TLS = ['ssl-mode', 'ssl-ca', 'ssl-cert', 'ssl-key', 'ssl'] as const
const [MODE, CA, CERT, KEY, JSON_OPTIONS] = TLS

/** MySQL's and MariaDB's words. */
export const MYSQL: ProductWords<MysqlOptions['ssl']> = {
  name: 'MySQL',
  schemes: ['mysql', 'mariadb'],
  port: 3306,
  holder: 'schema',
  options: ['socketPath'],
  url: {
    example: '?ssl-mode=required, ?socket=…',
    parameters: ['socket', JSON_OPTIONS],
    refused: [
      [/ssl|tls/, `of TLS, ${TLS.join(', ')}`],
      [/socket(?:path)?$/, 'for a socket, socket'],
    ],
    options: (parameters, named) => {
      const ssl = parameters.get(JSON_OPTIONS)
      const socketPath = parameters.get('socket')
      return ssl === undefined
        ? { socketPath }
        : { socketPath, ssl: jsonOf(named(JSON_OPTIONS), ssl) }
    },
  },
  tls: {
    mode: MODE,
    levels: {
      disabled: 'none',
      required: 'encrypted',
      verify_ca: 'trusted',
      verify_identity: 'named',
    },
    files: { ca: CA, cert: CERT, key: KEY },
    byFile: 'trusted',
    caIsTrust: false,
    refusesMissingFile: false,
    // mysql2's own reading of `ssl: {}` is to verify the certificate, though not its host name.
    trusted: {},
    named: { verifyIdentity: true },
  },
  checks: {
    ECONNRESET: `the connection was cut. ${CUT}`,
    PROTOCOL_CONNECTION_LOST: `the connection was closed. ${CUT}`,
    HANDSHAKE_NO_SSL_SUPPORT:
      'the URL asks for TLS and the server has none. Enable it on the server, or connect with ' +
      'ssl-mode=disabled',
    HANDSHAKE_SSL_ERROR:
      '%. Check the certificates: ssl-ca names the authority, and ssl-mode=required encrypts ' +
      'without verifying',
  },
  refusals: {
    ER_ACCESS_DENIED_ERROR: LET_IN,
    ER_ACCESS_DENIED_NO_PASSWORD_ERROR: LET_IN,
    ER_MUST_CHANGE_PASSWORD_LOGIN: 'Change it with another client',
    ER_USER_ACCESS_DENIED_FOR_USER_ACCOUNT_BLOCKED_BY_PASSWORD_LOCK:
      'Check the password, then unlock the user (ALTER USER … ACCOUNT UNLOCK)',
    ER_DBACCESS_DENIED_ERROR:
      'Check the name of the schema, and grant the user rights on it (GRANT … ON `%`.*)',
    ER_BAD_DB_ERROR: 'Check the name of the schema, or make it (CREATE DATABASE `%`)',
    ER_HOST_NOT_PRIVILEGED: 'Let the user in from this host (CREATE USER … @ …)',
    ER_HOST_IS_BLOCKED: 'Unblock it with FLUSH HOSTS at the server',
    ER_CON_COUNT_ERROR: 'Raise max_connections at the server, or lower connection_limit here',
    ER_SECURE_TRANSPORT_REQUIRED: 'Connect with TLS: add ?ssl-mode=required to the URL',
  },
  errors: ERRORS,
}

function jsonOf(option: string, text: string): NonNullable<MysqlOptions['ssl']> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // The text may be a piece of a password.
  }
  if (typeof value === 'object' && value !== null) return value
  throw refusedValue(option, 'no JSON object', "a JSON object of mysql2's options, or ssl-mode")
}
