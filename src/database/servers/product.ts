/**
 * The words in which the products of database servers differ, in URLs, options, messages and
 * errors. Each product has one table of them.
 */
import type { DatabaseErrorCategory } from '../database.js'
import type { DatabaseHost } from './host-list.js'
import type { Said } from './said.js'

/** Options that all products have. */
export interface ServerOptions<Ssl = unknown> {
  readonly host?: string | undefined
  readonly port?: number | undefined
  readonly hosts?: readonly DatabaseHost[] | undefined
  readonly socketPath?: string | undefined
  readonly user?: string | undefined
  readonly password?: string | undefined
  readonly database: string
  readonly ssl?: Ssl | undefined
  readonly connectionLimit?: number | undefined
}

export type Parameters = ReadonlyMap<string, string>

/** Returns what a message calls a parameter of the URL: it may have come from a variable. */
export type Named = (parameter: string) => string

/** Words of a product. */
export interface ProductWords<Ssl = unknown> {
  /** In messages: `MySQL`. */
  readonly name: string
  /** Schemes of its URLs. The first one is the name of its function, too. */
  readonly schemes: readonly [string, ...string[]]
  readonly port: number
  /** What holds the tables: `schema` or `database`. */
  readonly holder: string
  readonly url: UrlWords<Ssl>
  readonly tls: TlsWords
  /** Options of the product alone, which are texts. */
  readonly options: readonly string[]
  readonly errors: ErrorWords
}

export interface UrlWords<Ssl> {
  /** Examples of parameters, for messages. */
  readonly example: string
  /** Parameters that are accepted, besides `connection_limit` and the words of TLS. */
  readonly parameters: readonly string[]
  /** Words of other connections than would be made, and what to say instead. */
  readonly refused: readonly (readonly [word: RegExp, allowed: string])[]
  /** Returns the options that those parameters give. @throws RangeError */
  readonly options: (parameters: Parameters, named: Named) => Partial<ServerOptions<Ssl>>
}

/**
 * How much TLS a URL asks for: none; none, although its word means a try; encryption; a certificate
 * that is trusted; one that has the name of the server.
 */
export type TlsLevel = 'none' | 'no try' | 'encrypted' | 'trusted' | 'named'

export interface TlsWords {
  /** The parameter that names a level, and its values. */
  readonly mode: string
  readonly levels: Readonly<Record<string, TlsLevel>>
  /** The parameters that name files. */
  readonly files: Readonly<Record<'ca' | 'cert' | 'key', string>>
  /** The level of a URL that names a file and no level. */
  readonly byFile: TlsLevel
  /** Whether a `ca` makes of `encrypted` `trusted`. */
  readonly caIsTrust: boolean
  /** Whether a file that cannot be read is refused, or left out with a warning. */
  readonly refusesMissingFile: boolean
  /** The client's options for a certificate of any name, and for one of the server's. */
  readonly trusted: TlsOptions
  readonly named: TlsOptions
}

/** Options of TLS that a URL can give. */
export interface TlsOptions {
  ca?: string
  cert?: string
  key?: string
  rejectUnauthorized?: boolean
  verifyIdentity?: boolean
  checkServerIdentity?: () => undefined
}

export interface ErrorWords {
  readonly read: (error: unknown) => ErrorRead
  /** Whether the quotes in the message of an error hold names only. */
  readonly quotesNames: (code: string) => boolean
  /** The row of a code in the table of what the server can say. */
  readonly said: (code: string) => Said | undefined
}

/** An error of a driver. */
export interface ErrorRead {
  readonly code: string
  readonly category: DatabaseErrorCategory
  /** May quote values, if it is the server's. */
  readonly message: string
  readonly isServers: boolean
}
