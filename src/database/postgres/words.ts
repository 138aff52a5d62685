import { refusedValue } from '../../support/options.js'
import type { ProductWords } from '../servers/product.js'
import { ERRORS } from './errors.js'
import type { PostgresOptions } from './options.js'

const TLS = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey'] as const
const [MODE, CA, CERT, KEY] = TLS

/** Values of `target_session_attrs` that a server which takes writes has. */
const WRITABLE = ['any', 'read-write', 'primary']

/** PostgreSQL's words, and those of libpq. */
export const POSTGRES: ProductWords<PostgresOptions['ssl']> = {
  name: 'PostgreSQL',
  schemes: ['postgres', 'postgresql'],
  port: 5432,
  holder: 'database',
  options: [],
  url: {
    example: '?sslmode=require, ?host=/folder/of/the/socket',
    parameters: ['host', 'port', 'target_session_attrs'],
    refused: [[/ssl|tls|channelbinding/, `of TLS, ${TLS.join(', ')}`]],
    options: (parameters, named) => {
      const attributes = parameters.get('target_session_attrs')
      if (attributes !== undefined && !WRITABLE.includes(attributes)) {
        const allowed = `${WRITABLE.join(', ')}: the server must take writes`
        throw refusedValue(named('target_session_attrs'), 'another word', allowed)
      }
      const [host, port] = [parameters.get('host'), parameters.get('port')]
      return { ...(host && { host }), ...(port && { port: Number(port) }) }
    },
  },
  // https://www.postgresql.org/docs/current/libpq-ssl.html
  tls: {
    mode: MODE,
    levels: {
      disable: 'none',
      allow: 'no try',
      prefer: 'no try',
      require: 'encrypted',
      'verify-ca': 'trusted',
      'verify-full': 'named',
    },
    files: { ca: CA, cert: CERT, key: KEY },
    byFile: 'named',
    // As libpq has both.
    caIsTrust: true,
    refusesMissingFile: true,
    trusted: { checkServerIdentity: () => undefined },
    named: {},
  },
  errors: ERRORS,
}
