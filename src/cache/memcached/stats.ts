/**
 * Reads the statistics of a memcached server, for operators. It uses its own connection, with the
 * same binary protocol and the same login as all others. An answer to STAT is many packets, which
 * the links of the cache do not take.
 */
import { connect, type Socket } from 'node:net'
import { CacheError } from '../cache.js'
import type { MemcachedAddress } from './addresses.js'

const HEADER_BYTES = 24
const REQUEST = 0x80
const RESPONSE = 0x81
const STAT = 0x10
const SASL_AUTH = 0x21
const OK = 0

/** Most bytes of an answer: real ones have 10 KB. */
const MAX_BYTES = 1024 * 1024

/** Statistics by their names, and the settings of the server as `settings:<name>`. */
export type MemcachedStats = ReadonlyMap<string, string>

interface Packet {
  readonly opcode: number
  readonly status: number
  readonly key: string
  readonly value: string
}

/**
 * Asks a server for its statistics and settings. @throws CacheError
 */
export async function memcachedStats(
  address: MemcachedAddress,
  timeoutMs: number,
  env: NodeJS.ProcessEnv = process.env,
): Promise<MemcachedStats> {
  const username = address.username ?? env['MEMCACHE_USERNAME']
  const password = address.password ?? env['MEMCACHE_PASSWORD']
  const login =
    username && password ? [request(SASL_AUTH, 'PLAIN', `\0${username}\0${password}`)] : []
  const questions = [...login, request(STAT, ''), request(STAT, 'settings')]
  const packets = await answers(address, Buffer.concat(questions), timeoutMs)
  return statsIn(packets, address.name)
}

function statsIn(packets: readonly Packet[], server: string): MemcachedStats {
  const stats = new Map<string, string>()
  let prefix = ''
  for (const { opcode, status, key, value } of packets) {
    if (status !== OK) {
      const what = opcode === SASL_AUTH ? 'refuses the user name or password' : 'has no statistics'
      throw failure('CACHE_REFUSED', server, what)
    }
    if (opcode !== STAT) continue
    // An answer without a name ends the statistics.
    if (key === '') prefix = 'settings:'
    else stats.set(`${prefix}${key}`, value)
  }
  return stats
}

/** Resolves with all packets up to the end of the second STAT, or up to an error. */
function answers(
  address: MemcachedAddress,
  question: Buffer,
  timeoutMs: number,
): Promise<Packet[]> {
  return new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0)
    const socket: Socket = connect(address.port, address.host, () => socket.write(question))
    const fail = (error: CacheError): void => {
      clearTimeout(timer)
      socket.destroy()
      reject(error)
    }
    const timer = setTimeout(
      () => fail(failure('CACHE_TIMEOUT', address.name, `did not answer within ${timeoutMs} ms`)),
      timeoutMs,
    )
    socket.on('data', (data) => {
      bytes = Buffer.concat([bytes, data])
      const packets = packetsIn(bytes)
      if (packets === undefined || bytes.length > MAX_BYTES) {
        return fail(failure('CACHE_REFUSED', address.name, 'does not speak the binary protocol'))
      }
      const ends = packets.filter(({ opcode, key }) => opcode === STAT && key === '').length
      if (ends < 2 && packets.every(({ status }) => status === OK)) return
      clearTimeout(timer)
      socket.destroy()
      resolve(packets)
    })
    socket.on('error', (error) => {
      const code = 'code' in error ? String(error.code) : error.message
      fail(failure('CACHE_UNREACHABLE', address.name, `cannot be reached (${code})`))
    })
    socket.on('close', () => fail(failure('CACHE_TIMEOUT', address.name, 'broke the connection')))
  })
}

/** Reads the complete packets at the start of `bytes`. `undefined`: these are not packets. */
function packetsIn(bytes: Buffer): Packet[] | undefined {
  const packets: Packet[] = []
  let at = 0
  while (at + HEADER_BYTES <= bytes.length) {
    if (bytes[at] !== RESPONSE) return undefined
    const keyAt = at + HEADER_BYTES + bytes.readUInt8(at + 4)
    const valueAt = keyAt + bytes.readUInt16BE(at + 2)
    const end = at + HEADER_BYTES + bytes.readUInt32BE(at + 8)
    if (valueAt > end) return undefined
    if (end > bytes.length) break
    packets.push({
      opcode: bytes.readUInt8(at + 1),
      status: bytes.readUInt16BE(at + 6),
      key: bytes.toString('latin1', keyAt, valueAt),
      value: bytes.toString('latin1', valueAt, end),
    })
    at = end
  }
  return packets
}

function request(opcode: number, key: string, value = ''): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  const [keyBytes, valueBytes] = [Buffer.from(key), Buffer.from(value)]
  header.writeUInt8(REQUEST, 0)
  header.writeUInt8(opcode, 1)
  header.writeUInt16BE(keyBytes.length, 2)
  header.writeUInt32BE(keyBytes.length + valueBytes.length, 8)
  return Buffer.concat([header, keyBytes, valueBytes])
}

function failure(code: CacheError['code'], server: string, what: string): CacheError {
  return new CacheError(code, `wide-cache: memcached ${server} ${what}`, { server })
}
