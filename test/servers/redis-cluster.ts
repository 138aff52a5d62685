/** A Redis Cluster of three nodes without replicas, on 127.0.0.1. */
import { setTimeout as delay } from 'node:timers/promises'
import { createClient } from 'redis'
import { freePort } from './free-port.js'
import { type Redis, startRedis } from './redis.js'

const NODES = 3
const SLOTS = 16_384
const READY_MS = 120_000

export interface RedisCluster {
  readonly urls: readonly string[]
  /** SIGSTOP of one node. */
  pause(node: number): void
  resume(node: number): void
  stop(): Promise<void>
}

export async function startRedisCluster(): Promise<RedisCluster> {
  const nodes = await Promise.all(Array.from({ length: NODES }, startNode))
  const clients = nodes.map(({ redis }) => createClient({ url: redis.url }))
  await Promise.all(clients.map((client) => client.connect()))
  const ask = (node: number, ...words: string[]): Promise<unknown> =>
    clients[node]!.sendCommand(['CLUSTER', ...words])
  for (let node = 0; node < NODES; node++) {
    const [first, last] = [node, node + 1].map((n) => Math.floor((n * SLOTS) / NODES))
    await ask(node, 'ADDSLOTSRANGE', String(first), String(last! - 1))
    const { redis, busPort } = nodes[0]!
    if (node > 0) {
      await ask(node, 'MEET', '127.0.0.1', new URL(redis.url).port, String(busPort))
    }
  }
  const deadline = performance.now() + READY_MS
  for (let node = 0; node < NODES; node++) {
    while (!/cluster_state:ok[^]*cluster_known_nodes:3/.test(String(await ask(node, 'INFO')))) {
      if (performance.now() > deadline) throw new Error('the Redis Cluster has not started')
      await delay(50)
    }
  }
  for (const client of clients) client.destroy()
  return {
    urls: nodes.map(({ redis }) => redis.url),
    pause: (node) => nodes[node]!.redis.pause(),
    resume: (node) => nodes[node]!.redis.resume(),
    async stop() {
      await Promise.all(nodes.map(({ redis }) => redis.stop()))
    },
  }
}

async function startNode(): Promise<{ redis: Redis; busPort: number }> {
  const busPort = await freePort()
  const options = ['--cluster-enabled', 'yes', '--cluster-port', String(busPort)]
  return { redis: await startRedis(options), busPort }
}
