import { NO_OWNER } from '../in-flight.js'
import { namedServer, type RedisAddress } from './address.js'
import { newConnection } from './client.js'
import { RedisLink } from './link.js'

/** The fields of INFO by their names, and the settings of CONFIG GET as `config:<name>`. */
export type RedisInfo = ReadonlyMap<string, string>

/**
 * Asks a server for INFO, and for the settings of its snapshots, which managed servers may refuse.
 * For operators, through a connection of its own.
 *
 * @throws CacheError
 */
export async function redisInfo(address: RedisAddress, timeoutMs: number): Promise<RedisInfo> {
  const link = new RedisLink({
    server: namedServer(address, timeoutMs),
    owner: NO_OWNER,
    open: (onError) => newConnection(address, onError),
  })
  const ask = (...words: string[]): Promise<unknown> =>
    link.send(0, (commands) => commands.sendCommand(words))
  try {
    const info = new Map<string, string>()
    for (const line of String(await ask('INFO')).split('\r\n')) {
      const colon = line.indexOf(':')
      if (colon > 0) info.set(line.slice(0, colon), line.slice(colon + 1))
    }
    const save = await ask('CONFIG', 'GET', 'save').catch(() => undefined)
    if (Array.isArray(save) && save.length === 2) info.set('config:save', String(save[1]))
    return info
  } finally {
    link.close()
  }
}
