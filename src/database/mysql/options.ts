import type { PoolOptions } from 'mysql2'
import type { DatabaseHost } from '../servers/host-list.js'

/** Options of `mysql()`, where a URL does not say enough. */
export interface MysqlOptions {
  /** Name or address of the server. @default `'localhost'` */
  readonly host?: string | undefined
  /** TCP port of the server, 1 to 65,535. @default 3306 */
  readonly port?: number | undefined
  /**
   * Several servers that have one database, instead of host and port: 1 to 16. The process uses one
   * at a time. @default host and port
   */
  readonly hosts?: readonly DatabaseHost[] | undefined
  /** Path of a Unix socket, instead of host and port. @default host and port */
  readonly socketPath?: string | undefined
  /** Name of the account. @default `''` */
  readonly user?: string | undefined
  /** Password of the account. It is in no message of the package. @default `''` */
  readonly password?: string | undefined
  /** The schema that holds the tables; it must exist. */
  readonly database: string
  /**
   * As mysql2 takes it: `{ ca, cert, key, rejectUnauthorized, … }` or the name of a profile,
   * `'Amazon RDS'`. @default no encryption
   */
  readonly ssl?: PoolOptions['ssl']
  /**
   * The most connections of this process, 1 to 1,000.
   *
   * @default 5
   */
  readonly connectionLimit?: number | undefined
}
