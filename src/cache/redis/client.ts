/**
 * The clients of the package `redis`: those that the adapter takes, its use of them, and its own
 * ones. The package is an optional peer and is loaded when the first client is made.
 */
// The whole module, because bundles often have a `createRequire` of their own.
import nodeModule from 'node:module'
import { wrongType, wrongValue } from '../../support/options.js'
import { withoutSecrets } from '../without-secrets.js'
import type { RedisAddress } from './address.js'

/** The commands that the adapter sends. Texts in replies are Buffers. */
export interface RedisCommands {
  /** Whether the client is connected. Clients of clusters have it since version 6. */
  readonly isReady?: boolean
  readonly isOpen: boolean
  get(key: string): Promise<unknown>
  set(
    key: string,
    value: Buffer,
    options: { expiration: { type: 'EX'; value: number }; condition?: 'NX' },
  ): Promise<unknown>
  del(key: string): Promise<unknown>
  eval(
    script: string,
    options: { keys: string[]; arguments: (string | Buffer)[] },
  ): Promise<unknown>
  /** Not the one of a cluster's client. */
  sendCommand(words: readonly string[]): Promise<unknown>
}

/** A client of the package `redis`, and what may be done with it. */
export interface RedisConnection {
  readonly commands: RedisCommands
  /** Resolves when the client is connected; `undefined`: its owner connects it. */
  readonly connected?: Promise<unknown>
  /** Whether there are several servers behind it: then one may be silent and others not. */
  readonly isCluster: boolean
  /** Requests that the client has neither answered nor given up, even if no caller waits. */
  readonly kept: { requests: number; bytes: number }
  /** Sets whether it keeps the process alive; the site's own client stays as it is. */
  keepAlive(keeps: boolean): void
  /** Ends the connection, if it is the adapter's own. */
  discard(): void
}

/** Options of one command, in the words of the package. */
interface CommandOptions {
  readonly timeout: undefined
  readonly typeMapping: Record<number, typeof Buffer>
}

/**
 * A client of the package `redis`, version 5 or later, made by `createClient` or `createCluster`
 * and connected by its owner.
 */
export interface RedisClient {
  /** Whether its owner has connected it, and not closed it. */
  readonly isOpen: boolean
  /** Returns a client with the same connection, and other options for its commands. */
  withCommandOptions(options: never): unknown
}

interface ConfigurableClient {
  withCommandOptions(options: CommandOptions): RedisCommands
}

/** A client that the adapter makes and discards. */
interface OwnClient extends RedisClient {
  on(event: 'error', listener: (error: Error) => void): unknown
  connect(): Promise<unknown>
  ref(): void
  unref(): void
  destroy(): void
}

const ALLOWED =
  'a client of the package redis, version 5 or later, made by createClient() or createCluster()'

/** Type of a blob string in the protocol. The package exports the same number as RESP_TYPES. */
const BLOB_STRING = 36

/**
 * The package's own time limit makes an AbortSignal for each command, which costs more than the
 * command itself. The link has its own.
 */
const COMMAND_OPTIONS: CommandOptions = {
  timeout: undefined,
  typeMapping: { [BLOB_STRING]: Buffer },
}

/** Milliseconds for which the package waits for a connection: the link has its own time limit. */
const NO_TIMEOUT = 0

/** Returns the client's commands with replies as Buffers and without time limits of its own. */
function commandsOf(client: RedisClient): RedisCommands {
  // The package's own types, which are generic in each command's replies, are not known here.
  return (client as ConfigurableClient).withCommandOptions(COMMAND_OPTIONS)
}

/** Whether it is a client of a cluster: then one silent node says nothing of the others. */
function isClusterClient(client: object): boolean {
  return has(client, 'nodeClient')
}

/**
 * Refuses clients that may send a request a second time, because then a frame is appended twice.
 *
 * @throws TypeError, RangeError naming the option `client`
 */
export function checkClient(client: unknown): asserts client is RedisClient {
  if (typeof client !== 'object' || client === null) {
    const shown = typeof client === 'string' ? withoutSecrets(client) : client
    throw wrongType('client', shown, ALLOWED)
  }
  const refused = (what: string): RangeError => wrongValue('client', what, ALLOWED)
  if (has(client, 'defineCommand')) {
    throw refused('a client of ioredis, which sends a request again after a broken connection')
  }
  if (has(client, 'getSentinelNode')) {
    throw refused(
      'a client of createSentinel(), which sends a request again after a broken connection',
    )
  }
  const isKnown = 'isReady' in client || isClusterClient(client)
  if (!isKnown || !has(client, 'withCommandOptions') || !has(client, 'eval')) {
    throw refused('another object')
  }
}

/** The connection of the site's own client. */
export function connectionOf(client: RedisClient): RedisConnection {
  return {
    commands: commandsOf(client),
    isCluster: isClusterClient(client),
    kept: { requests: 0, bytes: 0 },
    keepAlive: () => undefined,
    discard: () => undefined,
  }
}

/**
 * Connects to a server. The client never connects a second time.
 *
 * @throws Error if the package is not installed
 */
export function newConnection(
  address: RedisAddress,
  onError: (error: unknown) => void,
): RedisConnection {
  const { socket, username, password, database } = address
  const discarded = new AbortController()
  const { signal } = discarded
  const client = loadPackage().createClient({
    socket: { ...socket, signal, connectTimeout: NO_TIMEOUT, reconnectStrategy: false },
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    database,
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: 'disabled',
    RESP: 2,
  })
  client.on('error', onError)
  return {
    ...connectionOf(client),
    connected: client.connect(),
    keepAlive: (keeps) => (keeps ? client.ref() : client.unref()),
    discard: () => {
      try {
        client.destroy()
      } catch {
        // Version 5.0 throws where the connection has broken already.
      }
      // destroy() leaves a socket that is only about to be connected.
      discarded.abort()
    },
  }
}

interface RedisPackage {
  createClient(options: object): OwnClient
}

let loaded: RedisPackage | undefined

/** @throws Error if the package is not installed, or is too old */
export function loadPackage(): RedisPackage {
  if (loaded) return loaded
  let found: RedisPackage
  try {
    found = nodeModule.createRequire(import.meta.url)('redis') as RedisPackage
  } catch (cause) {
    throw packageMissing('which is not installed', cause)
  }
  if (!has(found, 'createSentinel')) throw packageMissing('of version 5 or later')
  return (loaded = found)
}

function packageMissing(what: string, cause?: unknown): Error {
  const message =
    `wide-cache: a cache of redis:// needs the package "redis", ${what}; ` +
    'run: npm install redis'
  return Object.assign(new Error(message, { cause }), { code: 'ERR_WIDE_CACHE_REDIS' })
}

function has(object: object, method: string): boolean {
  return typeof (object as Record<string, unknown>)[method] === 'function'
}
