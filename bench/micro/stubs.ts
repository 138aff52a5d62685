/**
 * A cache that takes everything at once, and a database that is away: what the request path does
 * not wait for.
 */
import { type Cache, type Database, DatabaseError } from '../../src/index.js'

export const takesAll: Cache = {
  scope: 'shared',
  neverGoesBack: true,
  get: async () => undefined,
  getMany: async () => new Map(),
  set: async () => true,
  add: async () => true,
  append: async () => true,
  delete: async () => false,
  increment: async () => undefined,
  close: async () => {},
}

async function away(): Promise<never> {
  throw new DatabaseError('ECONNREFUSED', 'unreachable', 'there is no database')
}

export const noDatabase: Database = {
  dialect: 'mysql',
  maxStatementBytes: Infinity,
  query: away,
  now: away,
  transaction: away,
  migrate: away,
  close: async () => {},
}
