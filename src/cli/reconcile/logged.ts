/** Reads the lines of access logs: of `reconcile --format`, of Caddy, and combined ones. */
import { Bots } from '../../page-views/exchange.js'
import { Memo } from '../../page-views/memo.js'
import type { Exchange, RuleHeaders } from '../../page-views/page-view.js'

/** A request and its response in a log, without what differs from line to line. */
export interface LoggedExchange extends Exchange {
  /** In lower case, without its port. `undefined`: the log does not say. */
  readonly host: string | undefined
  /** Whether the site's process has answered, and not the web server by itself. */
  readonly reachedNode: boolean
  /** A combined log says neither the type nor the headers: they are those of a page. */
  readonly isCombined: boolean
  isNoPage: boolean
}

/** A line of a log. */
export interface Logged {
  /** Milliseconds since the Unix epoch at which the response had been sent. */
  readonly time: number
  /** The target as it was sent. */
  readonly target: string
  readonly exchange: LoggedExchange
}

/** A line of `reconcile --format` begins with its time and its target. */
const [TIME, URI] = ['{"time":"', '","uri":"']
/** What Apache writes for a byte, which is no JSON. */
const APACHE_BYTE = /\\x([0-9a-f]{2})/gi
/** Apache logs a target in the request line only. */
const REQUEST_LINE = /^[A-Z]+ (\S+)(?: HTTP\/[\d.]+)?$/
const PORT = /:\d*$/
/** The status of an upstream, Apache's handler of proxies, or the address of an upstream. */
const UPSTREAM = /^\d|^proxy-server$|:\d+$/

/** A combined log, perhaps with the host at the beginning of its lines. */
const COMBINED = new RegExp(
  String.raw`^(\S+) \S+ \S+ (?:(\S+) )?\[([^\]]{20,26})\] "([A-Z]+) (\S+)[^"]*" (\d{3}) \S+ ` +
    String.raw`"(?:[^"\\]|\\.)*" "((?:[^"\\]|\\.)*)"`,
)
/** `17/May/2026:10:00:00 +0200` */
const COMBINED_TIME = /^(\d\d)\/(\w{3})\/(\d{4}):/

/** Exchanges remembered. When there are more, all are read anew. */
const REMEMBERED = 5_000

type Fields = Readonly<Record<string, unknown>>

/** Reads lines. Many have the same exchange, which is read once. */
export class LogReader {
  readonly #bots = new Bots()
  readonly #own = new Memo(REMEMBERED, (rest) => {
    const fields = parsed(`{"uri":""${rest}`)
    return (fields && this.#exchangeOf(fields)) ?? null
  })
  readonly #combined = new Memo(REMEMBERED, (key) => {
    const [method, status, host, agent] = key.split('\n')
    const page = { type: 'text/html', accept: 'text/html' }
    return this.#exchangeOf({ ...page, method, status, host, 'user-agent': agent }, true) ?? null
  })
  #timeText = ''
  #time = NaN

  /** Returns what a line says; `undefined`: it cannot be read. */
  read(line: string): Logged | undefined {
    return line.startsWith('{')
      ? (this.#ownLine(line) ?? this.#json(line))
      : this.#combinedLine(line)
  }

  /** Reads a line of `reconcile --format`. By regular expression it takes half as long again. */
  #ownLine(line: string): Logged | undefined {
    const end = line.startsWith(TIME) ? line.indexOf(URI, TIME.length) : -1
    if (end === -1) return undefined
    const target = line.slice(end + URI.length, line.indexOf('"', end + URI.length))
    if (target.includes('\\')) return undefined
    const rest = line.slice(end + URI.length + target.length + 1)
    return loggedOf(Number(line.slice(TIME.length, end)) * 1000, target, this.#own.get(rest))
  }

  /** Reads a line with its fields in another order, or in the form of Caddy's own log. */
  #json(line: string): Logged | undefined {
    const fields = parsed(line)
    if (!fields) return undefined
    const { request, resp_headers: answered, ts, ...others } = fields
    if (!isObject(request)) {
      return loggedOf(Number(others['time']) * 1000, others['uri'], this.#exchangeOf(fields))
    }
    const { 'content-type': type, 'content-disposition': disposition } = firstValues(answered)
    const { host, method, uri } = request
    const asked = firstValues(request['headers'])
    const all = Object.assign(asked, others, { host, method, type, disposition })
    return loggedOf(Number(ts) * 1000, uri, this.#exchangeOf(all))
  }

  #combinedLine(line: string): Logged | undefined {
    const [, first, fourth, time = '', method, target, status, agent] = COMBINED.exec(line) ?? []
    const host = fourth === undefined ? '' : first
    const exchange = this.#combined.get([method, status, host, agent].join('\n'))
    if (time !== this.#timeText) {
      this.#timeText = time
      this.#time = Date.parse(time.replace(COMBINED_TIME, '$1 $2 $3 '))
    }
    return loggedOf(this.#time, target, exchange)
  }

  #exchangeOf(fields: Fields, isCombined = false): LoggedExchange | undefined {
    const texts: Record<string, string | undefined> = {}
    for (const name in fields) texts[name] = textIn(fields[name])
    const { host, method, type, disposition, upstream } = texts
    const status = Number(texts['status'])
    if (method === undefined || !(status >= 100 && status <= 999)) return undefined
    return {
      method,
      headers: texts as RuleHeaders,
      status,
      type,
      disposition,
      host: host?.replace(PORT, '').toLowerCase(),
      reachedNode: !('upstream' in fields) || UPSTREAM.test(upstream ?? ''),
      isCombined,
      isNoPage: false,
      isBot: this.#bots.isBot({ 'user-agent': texts['user-agent'] }),
      isForBots: false,
    }
  }
}

function loggedOf(
  time: number,
  uri: unknown,
  exchange: LoggedExchange | null | undefined,
): Logged | undefined {
  if (!exchange || typeof uri !== 'string' || !(time >= 0)) return undefined
  const target = uri.startsWith('/') ? uri : (REQUEST_LINE.exec(uri)?.[1] ?? uri)
  return { time, target, exchange }
}

/** Returns the fields of a JSON object; `undefined`: the text is none. */
function parsed(text: string): Fields | undefined {
  return jsonIn(text) ?? jsonIn(text.replace(APACHE_BYTE, '\\u00$1'))
}

function jsonIn(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}

/** The first value of each header, by its name in lower case, as Caddy logs headers. */
function firstValues(headers: unknown): Fields {
  const first: Record<string, unknown> = {}
  if (!isObject(headers)) return first
  for (const name in headers) {
    const values = headers[name]
    first[name.toLowerCase()] = Array.isArray(values) ? (values as unknown[])[0] : values
  }
  return first
}

/** nginx writes nothing for a header that was not sent, and Apache a dash. */
function textIn(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' && value !== '' && value !== '-' ? value : undefined
}
