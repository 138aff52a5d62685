/**
 * Reads `mysql://…` URLs as people have them: from ORMs, cloud consoles and other clients.
 * Parameters that mean something here are followed under all their spellings, those about matters
 * that are fixed here (timeouts, character set, time zone) are ignored, and unknown ones are named
 * in a warning. No message shows a value: a URL holds the password.
 */
import { readFileSync } from 'node:fs'
import { wrongValue } from '../../support/options.js'
import { urlsOfHosts } from './host-list.js'
import type { MysqlOptions } from './options.js'

const ALLOWED_URL =
  'mysql://user:password@host:port/database or ' +
  'mysql://user:password@host:port,host:port/database ' +
  '(special characters percent-encoded), with ?ssl-mode=required, ?socket=… or ' +
  '?connection_limit=… where wanted'

/** Levels of TLS, from none to the strictest, in MySQL's own words. */
const MODES = ['disabled', 'preferred', 'required', 'verify_ca', 'verify_identity'] as const
type Mode = (typeof MODES)[number]

/** Other words for the modes, by parameter. */
const WORDS: Readonly<Record<string, Readonly<Record<string, Mode>>>> = {
  sslmode: {
    disable: 'disabled',
    allow: 'preferred',
    prefer: 'preferred',
    require: 'required',
    verifyca: 'verify_ca',
    verifyidentity: 'verify_identity',
    verifyfull: 'verify_identity',
  },
  // Prisma
  sslaccept: { strict: 'verify_identity', acceptinvalidcerts: 'required' },
  // Connector/J
  usessl: { true: 'required', false: 'disabled' },
  requiressl: { true: 'required', false: 'disabled' },
  // Go
  tls: {
    true: 'verify_identity',
    false: 'disabled',
    skipverify: 'required',
    preferred: 'preferred',
  },
}

/** Parameters about what wide-cache sets itself, or what only other programs have. */
const IGNORED = new Set([
  'acquiretimeout',
  'allowpublickeyretrieval',
  'applicationname',
  'authmethod',
  'autoreconnect',
  'bignumberstrings',
  'characterencoding',
  'charset',
  'charsetnumber',
  'collation',
  'compress',
  'compression',
  'connectioncollation',
  'connectiontimeout',
  'connecttimeout',
  'datestrings',
  'debug',
  'decimalnumbers',
  'dialect',
  'driver',
  'enablekeepalive',
  'encoding',
  'flags',
  'getserverpublickey',
  'idletimeout',
  'keepaliveinitialdelay',
  'loc',
  'maxconnectionlifetime',
  'maxidle',
  'maxidleconnectionlifetime',
  'multiplestatements',
  'parsetime',
  'pgbouncer',
  'pool',
  'poolsize',
  'pooltimeout',
  'prepare',
  'programname',
  'queuelimit',
  'readtimeout',
  'reconnect',
  'schema',
  'servertimezone',
  'serverversion',
  'singleuseconnections',
  'sockettimeout',
  'statementcachesize',
  'supportbignumbers',
  'timeout',
  'timezone',
  'trace',
  'useunicode',
  'version',
  'waitforconnections',
  'writetimeout',
])
const FOLLOWED = new Set([
  'connectionlimit',
  'socket',
  'socketpath',
  'unixsocket',
  'ssl',
  'sslca',
  'sslrootcert',
  'sslcert',
  'sslkey',
  ...Object.keys(WORDS),
])

const TLS_PARAMETERS = [...FOLLOWED].filter((name) => name.startsWith('ssl')).join(', ')

/**
 * Names of parameters that a message may show. Any other may be a piece of a password with a `?`.
 */
const NAME = /^[\w.-]{1,40}$/

/** @throws RangeError naming `option`, or the parameter whose value is wrong */
export function mysqlUrl(
  text: string,
  option: string,
  warn: (message: string) => void,
): MysqlOptions {
  const urls = urlsOfHosts(text).map((one, index, all) => {
    // `new URL` puts what it was given, password and all, into its error.
    if (URL.canParse(one)) return new URL(one)
    const which = all.length > 1 ? `whose host ${index + 1} of ${all.length}` : 'that'
    throw wrongValue(option, `a URL ${which} cannot be read`, ALLOWED_URL)
  })
  const [url] = urls as [URL]
  if (url.protocol !== 'mysql:' && url.protocol !== 'mariadb:') {
    throw wrongValue(option, `${url.protocol}…`, ALLOWED_URL)
  }
  // A password with a raw / or #, or a URL without its //, would be shown as the schema.
  if (urls.some(({ pathname, hash }) => pathname.includes('@') || hash !== '')) {
    throw wrongValue(option, 'a URL that cannot be read', ALLOWED_URL)
  }
  const decoded = (part: string) => {
    try {
      return decodeURIComponent(part) || undefined
    } catch {
      throw wrongValue(option, 'a URL with a wrong % in it', ALLOWED_URL)
    }
  }
  const warning = (what: string) => warn(`wide-cache: option "${option}": ${what}`)
  const parameters = parametersOf(url, warning)
  const limit = parameters.get('connectionlimit')
  const hosts = urls.map(({ hostname, port }) => ({
    host: decoded(hostname.replace(/^\[(.*)\]$/, '$1')),
    port: port === '' ? undefined : Number(port),
  }))
  return {
    ...(hosts.length > 1 ? { hosts } : hosts[0]),
    user: decoded(url.username),
    password: decoded(url.password),
    database: decoded(url.pathname.slice(1)) ?? '',
    socketPath:
      parameters.get('socketpath') ?? parameters.get('socket') ?? parameters.get('unixsocket'),
    ssl: tlsOf(parameters, warning),
    connectionLimit: limit === undefined ? undefined : Number(limit),
  }
}

/** The parameters that are followed, under one spelling. */
function parametersOf(url: URL, warning: (what: string) => void): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>()
  const unknown: string[] = []
  for (const [name, value] of url.searchParams) {
    const plain = plainly(name)
    if (FOLLOWED.has(plain)) {
      if (!parameters.has(plain)) parameters.set(plain, value)
    } else if (/^(?:ssl|tls)/.test(plain) && !IGNORED.has(plain)) {
      // A misspelt name would connect without what it asks for.
      const said = NAME.test(name) ? name : 'a name with special characters'
      throw wrongValue('database', `a URL with the parameter ${said}`, `of TLS, ${TLS_PARAMETERS}`)
    } else if (!IGNORED.has(plain)) {
      unknown.push(NAME.test(name) ? name : '(a name with special characters)')
    }
  }
  if (unknown.length > 0) {
    warning(
      `the URL has parameters that wide-cache does not know and ignores: ${unknown.join(', ')}`,
    )
  }
  return parameters
}

/** `ssl-mode`, `ssl_mode` and `sslMode` are one. */
function plainly(word: string): string {
  return word.toLowerCase().replace(/[-_.]/g, '')
}

function tlsOf(
  parameters: ReadonlyMap<string, string>,
  warning: (what: string) => void,
): MysqlOptions['ssl'] {
  const ssl = parameters.get('ssl')
  if (ssl?.startsWith('{')) return jsonOf(ssl)
  const modes = [...parameters]
    .filter(([name]) => name in WORDS)
    .map(([name, value]) => modeOf(name, value))
  const byWord =
    ssl === undefined
      ? undefined
      : (WORDS['sslmode']?.[plainly(ssl)] ?? MODES.find((mode) => plainly(mode) === plainly(ssl)))
  if (byWord) modes.push(byWord)
  // The name of one of mysql2's profiles.
  else if (ssl !== undefined && !/^(?:|0|1|true|false)$/i.test(ssl)) return ssl

  const file = (name: string) => contentOf(name, parameters.get(name), warning)
  // Prisma's `sslcert` is the server's authority; beside a key it is the client's certificate.
  const isClients = parameters.has('sslkey')
  const ca = file('sslca') ?? file('sslrootcert') ?? (isClients ? undefined : file('sslcert'))
  const own = isClients ? { key: file('sslkey'), cert: file('sslcert') } : {}
  const certificates = Object.fromEntries(
    Object.entries({ ca, ...own }).filter(([, content]) => content !== undefined),
  )
  // A certificate asks for TLS, even if its file is missing here.
  const named = ['sslca', 'sslrootcert', 'sslcert', 'sslkey'].some((name) => parameters.get(name))
  // mysql2's own reading of `ssl: {}` is to verify the certificate, though not its host name.
  if (/^(?:1|true)$/i.test(ssl ?? '') || (named && !modes.includes('disabled'))) {
    modes.push('verify_ca')
  }

  const mode = MODES.findLast((mode) => modes.includes(mode))
  switch (mode) {
    case undefined:
    case 'disabled':
      return undefined
    case 'preferred':
      warning(
        'TLS is "preferred", which promises none: wide-cache connects without TLS; say ' +
          'ssl-mode=required to have it',
      )
      return undefined
    case 'required':
      return { ...certificates, rejectUnauthorized: false }
    case 'verify_ca':
      return certificates
    case 'verify_identity':
      return { ...certificates, verifyIdentity: true }
  }
}

function modeOf(name: string, value: string): Mode {
  const words = WORDS[name] ?? {}
  const word = plainly(value)
  const mode =
    words[word] ?? (name === 'sslmode' ? MODES.find((mode) => plainly(mode) === word) : undefined)
  if (mode) return mode
  throw wrongValue(
    name,
    'something else',
    (name === 'sslmode' ? MODES : Object.keys(words)).join(', '),
  )
}

function jsonOf(text: string): NonNullable<MysqlOptions['ssl']> {
  try {
    return JSON.parse(text) as NonNullable<MysqlOptions['ssl']>
  } catch {
    throw wrongValue('ssl', 'text that is no JSON', 'true, the name of a profile, or a JSON object')
  }
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
