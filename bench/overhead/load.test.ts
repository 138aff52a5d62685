import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { ofList } from '../harness/cores.js'
import { Crowd } from './load.js'

const cookies: (string | undefined)[] = []
const server = createServer((req, res) => {
  cookies.push(req.headers.cookie)
  if (req.headers.cookie === undefined) res.setHeader('Set-Cookie', 'id=7; Path=/; HttpOnly')
  res.setHeader('Content-Length', 5).end('hello')
}).listen(0, '127.0.0.1')
after(() => server.close())

test('visitors who stay bring back the cookie that they were given first', async () => {
  await once(server, 'listening')
  const site = { port: (server.address() as AddressInfo).port, served: 0 }
  const crowd = new Crowd(site, 2)
  const first = await crowd.run('/', 0.05)
  const second = await crowd.run('/', 0.05)
  crowd.close()
  assert.equal(cookies.length, first.length + second.length)
  assert.equal(cookies.length, site.served)
  assert.equal(cookies.filter((cookie) => cookie === undefined).length, 2, 'one each')
  assert(cookies.every((cookie) => cookie === undefined || cookie === 'id=7'))
})

test('the cores that a process may use are read as taskset lists them', () => {
  assert.deepEqual(ofList("pid 7's current affinity list: 0,1\n"), [0, 1])
  assert.deepEqual(ofList("pid 7's current affinity list: 0,2-4,9\n"), [0, 2, 3, 4, 9])
  assert.deepEqual(ofList("pid 7's current affinity list: 3\n"), [3])
  assert.throws(() => ofList('taskset: failed'), /taskset has said/)
})
