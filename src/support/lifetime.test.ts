import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Lifetime } from './lifetime.js'
import { flushPromises } from './manual-clock.fixture.js'

/** Work that ends when it is told to. */
function work() {
  let end = (): void => undefined
  const running = new Promise<void>((resolve) => (end = resolve))
  return { running, end }
}

test('idle() waits for work that begins as the last work ends', async () => {
  const lifetime = new Lifetime(() => new Error('closed'))
  const [first, second] = [work(), work()]
  lifetime.track(first.running)
  void first.running.then(() => lifetime.track(second.running))
  let isIdle = false
  const idle = lifetime.idle().then(() => (isIdle = true))
  first.end()
  await flushPromises()
  assert.equal(isIdle, false)
  second.end()
  await idle
})

test('idle() waits for work that fails, and not for work that has ended', async () => {
  const lifetime = new Lifetime(() => new Error('closed'))
  const failing = lifetime.run(() => Promise.reject(new Error('fails')))
  await Promise.all([lifetime.idle(), assert.rejects(failing, { message: 'fails' })])
  await lifetime.idle()
})
