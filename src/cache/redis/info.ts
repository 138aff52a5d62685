/** Reads the INFO of a Redis server, for operators, through a connection of its own. */
import { CacheError } from '../cache.js'
import type { RedisAddress } from './address.js'
import { newClient } from './client.js'

/** The fields of INFO by their names, and the settings of CONFIG GET as `config:<name>`. */
export type RedisInfo = ReadonlyMap<string, string>

/**
 * Asks a server for INFO, and for the settings of its snapshots, which managed servers may refuse.
 *
 * @throws CacheError
 */
export async function redisInfo(address: RedisAddress, timeoutMs: number): Promise<RedisInfo> {
  const { client, discard } = newClient(address)
  const fail = (code: CacheError['code'], what: string): CacheError =>
    new CacheError(code, `wide-cache: Redis ${address.name} ${what}`, { server: address.name })
  let timer: NodeJS.Timeout | undefined
  try {
    const failed = new Promise<never>((_, reject) => {
      client.on('error', (error) => {
        reject(fail('CACHE_UNREACHABLE', `cannot be reached (${error.message})`))
      })
      timer = setTimeout(() => {
        reject(fail('CACHE_TIMEOUT', `did not answer within ${timeoutMs} ms`))
      }, timeoutMs)
    })
    return await Promise.race([answers(client), failed])
  } finally {
    clearTimeout(timer)
    discard()
  }
}

async function answers(client: ReturnType<typeof newClient>['client']): Promise<RedisInfo> {
  await client.connect()
  const info = new Map<string, string>()
  for (const line of String(await client.sendCommand(['INFO'])).split('\r\n')) {
    const colon = line.indexOf(':')
    if (colon > 0) info.set(line.slice(0, colon), line.slice(colon + 1))
  }
  const save = await client.sendCommand(['CONFIG', 'GET', 'save']).catch(() => undefined)
  if (Array.isArray(save) && save.length === 2) info.set('config:save', String(save[1]))
  return info
}
