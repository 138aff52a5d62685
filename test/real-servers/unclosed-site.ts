/** Tests of a site, as somebody writes them who closes nothing. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import express from 'express'
import request from 'supertest'
import { createActivity, createHits } from '../../src/index.js'
import { TO_A_PAGE } from '../../src/support/http.fixture.js'

const name = process.argv[2] ?? ''
const closeTimeoutMs = Number(process.env['CLOSE_TIMEOUT_MS'])
const activity = createActivity({ name, closeTimeoutMs })
const hits = createHits({ name, closeTimeoutMs })
const app = express()
app.use(activity.middleware())
app.get('/threads/:id', hits.middleware({ item: (req) => String(req.params['id']) }), (_req, res) =>
  res.send('<h1>A thread</h1>'),
)

test('a thread is shown', async () => {
  const response = await request(app).get('/threads/7').set(TO_A_PAGE)
  assert.equal(response.text, '<h1>A thread</h1>')
})
