import assert from 'node:assert/strict'
import { test } from 'node:test'
import express from 'express'
import request from 'supertest'
import { isPage } from './page-view.js'

test('a page is HTML by the type itself, not by what else its header names', async () => {
  for (const [type, page] of [
    ['text/html', true],
    [' Text/HTML ; charset=utf-8', true],
    ['text/htmlx', false],
    ['application/json; of=text/html', false],
    ['multipart/mixed; text/html;', false],
  ] as const) {
    const app = express()
    let found: boolean | undefined
    app.get('/', (req, res) => {
      res.setHeader('content-type', type)
      found = isPage(req, res)
      res.status(204).end()
    })
    await request(app).get('/').expect(204)
    assert.equal(found, page, type)
  }
})
