import type { ConnectionOptions } from 'node:tls'
import type { DatabaseHost } from '../servers/host-list.js'

/** Options of `postgres()`, where a URL does not say enough. */
export interface PostgresOptions {
  /**
   * Name or address of the server, or the folder of its Unix socket, which begins with `/`.
   *
   * @default `'localhost'`
   */
  readonly host?: string | undefined
  /** TCP port of the server, 1 to 65,535; also in the name of a Unix socket. @default 5432 */
  readonly port?: number | undefined
  /**
   * Several servers that have one database, instead of host and port: 1 to 16. The process uses one
   * at a time, and only one that takes writes. @default host and port
   */
  readonly hosts?: readonly DatabaseHost[] | undefined
  /** Name of the role. @default what `pg` takes: `PGUSER`, or the user of the process */
  readonly user?: string | undefined
  /** Password of the role. It is in no message of the package. @default what `pg` finds */
  readonly password?: string | undefined
  /** The database that holds the tables; it must exist. */
  readonly database: string
  /**
   * TLS: `true`, or options of Node's `tls.connect`.
   *
   * @default no encryption
   */
  readonly ssl?: boolean | ConnectionOptions | undefined
  /**
   * The most connections of this process, 1 to 1,000.
   *
   * @default 5
   */
  readonly connectionLimit?: number | undefined
}
