import assert from 'node:assert/strict'
import { test } from 'node:test'
import express from 'express'
import request from 'supertest'
import type { Request } from './express.js'
import { Mount } from './mount.js'

const FIELDS = ['url', 'originalUrl', 'baseUrl', 'params'] as const

test('a request has the address of its mount during the work, and its own afterwards', async () => {
  const app = express()
  app.use('/threads/:id', (req, res) => {
    const address = () => FIELDS.map((field) => JSON.stringify(req[field]))
    const mount = new Mount(req)
    const there = address()
    Object.assign(req, { url: '/u', originalUrl: '/o', baseUrl: '/b', params: { other: 'p' } })
    const here = address()
    assert.equal(FIELDS.filter((_, i) => there[i] === here[i]).length, 0, 'each one is another')
    assert.deepEqual(mount.during(req, address), there)
    assert.deepEqual(address(), here)
    const fail = (): never => {
      throw new Error('work')
    }
    assert.throws(() => mount.during(req, fail), /work/)
    assert.deepEqual(address(), here)
    res.send('done')
  })
  await request(app).get('/threads/7/page?n=1').expect(200, 'done')
})

test('a field that does not differ is not set: a framework may have it to be read only', () => {
  const req = Object.freeze({ url: '/page', originalUrl: '/page', baseUrl: '', params: {} })
  assert.equal(
    new Mount(req as Request).during(req as Request, () => 'done'),
    'done',
  )
})

test('a path that a proxy removes comes before the address, mounted or not', async () => {
  const app = express()
  app.use('/threads', (req, res) => {
    const mount = new Mount(req, '/app')
    assert.equal(mount.target, '/app/threads/7')
    const address = () => [req.url, req.originalUrl, req.baseUrl]
    assert.deepEqual(mount.during(req, address), ['/7', '/app/threads/7', '/app/threads'])
    assert.deepEqual(address(), ['/7', '/threads/7', '/threads'])
    res.send('done')
  })
  await request(app).get('/threads/7').expect(200, 'done')
  const plain = { url: '/page' } as Request
  const address = () => [plain.url, plain.originalUrl, plain.baseUrl]
  assert.deepEqual(new Mount(plain, '/app').during(plain, address), ['/page', '/app/page', '/app'])
})

test('a request of another framework gets no fields that it does not have', () => {
  const req = { url: '/page' } as Request
  const mount = new Mount(req)
  req.url = '/rewritten'
  assert.equal(
    mount.during(req, () => req.url),
    '/page',
  )
  assert.deepEqual(req, { url: '/rewritten' })
})
