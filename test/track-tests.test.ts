import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const TRACKING = fileURLToPath(new URL('./track-tests.js', import.meta.url))

/** Tests that run at the same time. Those that fail do so in what nobody awaits. */
const TESTS = `
import { describe, test } from 'node:test'
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises'

const rejects = async () => {
  await turn()
  throw new Error('lost')
}
const throws = () => {
  throw new Error('thrown')
}
describe('group', { concurrency: 4 }, () => {
  test('waits', () => delay(50))
  test('rejects', async () => {
    await turn()
    void rejects()
    await delay(50)
  })
  test('throws', async () => {
    await delay(1)
    setTimeout(throws, 1)
    await delay(50)
  })
  test('has others', async () => {
    await turn()
    await test('inner', () => turn())
  })
})
`

test('what fails later in a test that runs beside others fails that test', () => {
  const options = [`--import=${TRACKING}`, '--test-reporter=tap', '--input-type=module']
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const { stdout } = spawnSync(process.execPath, [...options, '-e', TESTS], {
    env,
    encoding: 'utf8',
  })
  const told = stdout.match(/^ *(?:not )?ok .*$/gm)?.map((line) => line.replace(/ \d+ - /, ' '))
  assert.deepEqual(told, [
    '    ok waits',
    '    not ok rejects',
    '    not ok throws',
    '        ok inner',
    '    ok has others',
    'not ok group',
  ])
})
