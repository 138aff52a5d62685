/**
 * Reads `postgres://…` and `postgresql://…` URLs, with TLS in libpq's words. Accepts a few
 * parameters, refuses others that ask for TLS or for a server that takes no writes, and names the
 * rest in a warning. No message shows a value, because a URL holds the password.
 */
import { readFileSync } from 'node:fs'
import { wrongValue } from '../../support/options.js'
import { acceptedParameters, serverUrl } from '../servers/url.js'
import type { PostgresOptions } from './options.js'

const ALLOWED_URL =
  'postgres://user:password@host:port/database or ' +
  'postgres://user:password@host:port,host:port/database ' +
  '(special characters percent-encoded), with ?sslmode=require, ?host=/folder/of/the/socket or ' +
  '?connection_limit=… where wanted'

/** Levels of TLS in libpq's words: https://www.postgresql.org/docs/current/libpq-ssl.html */
const MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const
type Mode = (typeof MODES)[number]

const TLS = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey'] as const
const ACCEPTED = ['connection_limit', 'host', 'port', 'target_session_attrs', ...TLS] as const
type Parameter = (typeof ACCEPTED)[number]
type Parameters = ReadonlyMap<Parameter, string>

/** Values of `target_session_attrs` that a server which takes writes has. */
const WRITABLE = ['any', 'read-write', 'primary']
const ANY_NAME = { checkServerIdentity: () => undefined }

/** @throws RangeError naming `option`, or the parameter whose value is wrong */
export function postgresUrl(
  text: string,
  option: string,
  warn: (message: string) => void,
): PostgresOptions {
  // `URL` refuses a URL without a host, which a socket does without.
  const readable = text.replace(/^([a-z]+:\/\/(?:[^/?#]*@)?)(?=[/?:]|$)/i, '$1localhost')
  const {
    hosts,
    user,
    password,
    database,
    parameters: given,
  } = serverUrl(readable, option, ['postgres', 'postgresql'], ALLOWED_URL)
  const warning = (what: string) => warn(`wide-cache: option "${option}": ${what}`)
  const parameters = acceptedParameters(
    given,
    (name) => ACCEPTED.find((one) => one === name.toLowerCase()),
    (name, shown) => {
      if (!/ssl|tls|channel_?binding/i.test(name)) return
      throw wrongValue(option, `a URL with the parameter ${shown}`, `of TLS, ${TLS.join(', ')}`)
    },
    warning,
  )
  const attributes = parameters.get('target_session_attrs')
  if (attributes !== undefined && !WRITABLE.includes(attributes)) {
    throw wrongValue(
      'target_session_attrs',
      'something else',
      `${WRITABLE.join(', ')}: the server must take writes`,
    )
  }
  const limit = parameters.get('connection_limit')
  const port = parameters.get('port')
  const single = {
    host: parameters.get('host') ?? hosts[0]?.host,
    port: port === undefined ? hosts[0]?.port : Number(port),
  }
  return {
    ...(hosts.length > 1 ? { hosts } : single),
    user,
    password,
    database,
    ssl: tlsOf(parameters, warning),
    connectionLimit: limit === undefined ? undefined : Number(limit),
  }
}

function tlsOf(parameters: Parameters, warning: (what: string) => void): PostgresOptions['ssl'] {
  const root = parameters.get('sslrootcert')
  const mode = modeOf(parameters.get('sslmode')) ?? (root ? 'verify-full' : 'disable')
  const content = (name: 'sslcert' | 'sslkey') => {
    const file = parameters.get(name)
    return file === undefined ? {} : { [name.slice(3)]: contentOf(name, file) }
  }
  const own = { ...content('sslcert'), ...content('sslkey') }
  // libpq's own word for the certificates of the system, which are Node's default.
  const ca = root && root !== 'system' ? { ca: contentOf('sslrootcert', root) } : {}
  switch (mode) {
    case 'disable':
      return undefined
    case 'allow':
    case 'prefer':
      warning(
        `sslmode=${mode} connects without TLS here. Say sslmode=require, or verify-full, to ` +
          'encrypt, or sslmode=disable',
      )
      return undefined
    case 'require':
      // As libpq has it: with a root certificate it is verify-ca.
      return root ? { ...own, ...ca, ...ANY_NAME } : { ...own, rejectUnauthorized: false }
    case 'verify-ca':
      return { ...own, ...ca, ...ANY_NAME }
    case 'verify-full':
      return { ...own, ...ca }
  }
}

function modeOf(value: string | undefined): Mode | undefined {
  if (value === undefined) return undefined
  const mode = MODES.find((one) => one === value.toLowerCase())
  // The value may be a piece of a password.
  if (!mode) throw wrongValue('sslmode', 'something else', MODES.join(', '))
  return mode
}

/** @throws RangeError if the file cannot be read: libpq refuses to connect then, too */
function contentOf(parameter: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown failure'
    throw wrongValue(
      parameter,
      `a file that cannot be read (${code})`,
      'the path of a file in PEM format',
    )
  }
}
