/**
 * Reads `mysql://…` URLs. Accepts a few parameters, refuses others that ask for TLS or a socket,
 * and names the rest in a warning. No message shows a value, because a URL holds the password.
 */
import { readFileSync } from 'node:fs'
import { wrongValue } from '../../support/options.js'
import { acceptedParameters, serverUrl } from '../servers/url.js'
import type { MysqlOptions } from './options.js'

const ALLOWED_URL =
  'mysql://user:password@host:port/database or ' +
  'mysql://user:password@host:port,host:port/database ' +
  '(special characters percent-encoded), with ?ssl-mode=required, ?socket=… or ' +
  '?connection_limit=… where wanted'

/** Levels of TLS, from none to the strictest, in MySQL's own words. */
const MODES = ['disabled', 'required', 'verify_ca', 'verify_identity'] as const
type Mode = (typeof MODES)[number]

const CERTIFICATES = ['ssl-ca', 'ssl-cert', 'ssl-key'] as const
const TLS = ['ssl-mode', ...CERTIFICATES, 'ssl'] as const
const ACCEPTED = ['connection_limit', 'socket', ...TLS] as const
type Parameter = (typeof ACCEPTED)[number]
type Parameters = ReadonlyMap<Parameter, string>

/** @throws RangeError naming `option`, or the parameter whose value is wrong */
export function mysqlUrl(
  text: string,
  option: string,
  warn: (message: string) => void,
): MysqlOptions {
  const {
    hosts,
    user,
    password,
    database,
    parameters: given,
  } = serverUrl(text, option, ['mysql', 'mariadb'], ALLOWED_URL)
  const warning = (what: string) => warn(`wide-cache: option "${option}": ${what}`)
  const parameters = acceptedParameters(
    given,
    (name) => ACCEPTED.find((one) => plainly(one) === plainly(name)),
    (name, shown) => {
      if (/ssl|tls/.test(plainly(name))) {
        throw wrongValue(option, `a URL with the parameter ${shown}`, `of TLS, ${TLS.join(', ')}`)
      }
      if (/socket(?:path)?$/.test(plainly(name))) {
        throw wrongValue(option, `a URL with the parameter ${shown}`, 'for a socket, socket')
      }
    },
    warning,
  )
  const limit = parameters.get('connection_limit')
  return {
    ...(hosts.length > 1 ? { hosts } : hosts[0]),
    user,
    password,
    database,
    socketPath: parameters.get('socket'),
    ssl: tlsOf(parameters, warning),
    connectionLimit: limit === undefined ? undefined : Number(limit),
  }
}

/** `ssl-mode`, `ssl_mode` and `sslMode` are one. */
function plainly(word: string): string {
  return word.toLowerCase().replace(/[-_.]/g, '')
}

function tlsOf(parameters: Parameters, warning: (what: string) => void): MysqlOptions['ssl'] {
  const ssl = parameters.get('ssl')
  if (ssl !== undefined) return jsonOf(ssl)
  const files = CERTIFICATES.filter((name) => parameters.get(name))
  const [ca, cert, key] = CERTIFICATES.map((name) => contentOf(name, parameters.get(name), warning))
  const certificates = Object.fromEntries(
    Object.entries({ ca, cert, key }).filter(([, content]) => content !== undefined),
  )
  // A certificate asks for TLS, even if its file is missing here.
  const mode = modeOf(parameters.get('ssl-mode')) ?? (files.length > 0 ? 'verify_ca' : 'disabled')
  switch (mode) {
    case 'disabled':
      return undefined
    case 'required':
      return { ...certificates, rejectUnauthorized: false }
    case 'verify_ca':
      // mysql2's own reading of `ssl: {}` is to verify the certificate, though not its host name.
      return certificates
    case 'verify_identity':
      return { ...certificates, verifyIdentity: true }
  }
}

function modeOf(value: string | undefined): Mode | undefined {
  if (value === undefined) return undefined
  const mode = MODES.find((one) => plainly(one) === plainly(value))
  // The value may be a piece of a password.
  if (!mode) throw wrongValue('ssl-mode', 'something else', MODES.join(', '))
  return mode
}

function jsonOf(text: string): NonNullable<MysqlOptions['ssl']> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // The text may be a piece of a password.
  }
  if (typeof value === 'object' && value !== null) return value
  throw wrongValue('ssl', 'no JSON object', "a JSON object of mysql2's options, or ssl-mode")
}

/**
 * Returns the certificate or key that the parameter holds, or reads the file that it names. A file
 * that cannot be read is left out with a warning. TLS that verifies then uses the system's
 * certificates, and refuses what these do not trust.
 */
function contentOf(
  parameter: string,
  value: string | undefined,
  warning: (what: string) => void,
): string | undefined {
  if (!value || value.startsWith('-----BEGIN')) return value || undefined
  try {
    return readFileSync(value, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown failure'
    warning(
      `the file that the URL's parameter ${parameter} names cannot be read (${code}) and is ` +
        'not used',
    )
    return undefined
  }
}
