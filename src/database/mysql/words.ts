import { refusedValue } from '../../support/options.js'
import type { ProductWords } from '../servers/product.js'
import { ERRORS } from './errors.js'
import type { MysqlOptions } from './options.js'

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
