import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { TYPESCRIPT } from '../../scripts/typescript/exec-argv.js'
import { freePort } from './free-port.js'

/** So many that chance alone would give some of them twice. */
const PORTS = 500

test('no port is given twice, here or in another process, or to a connection', async () => {
  const draw = () => Promise.all(Array.from({ length: PORTS }, freePort))
  const ports = await draw()
  const program =
    `import { freePort } from '${new URL('free-port.ts', import.meta.url).href}'\n` +
    `const draw = ${draw.toString().replace('PORTS', String(PORTS))}\n` +
    `console.log(JSON.stringify(await draw()))`
  const args = [...TYPESCRIPT, '--input-type=module', '--eval', program]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  const all = [...ports, ...(JSON.parse(stdout) as number[])]
  assert.equal(new Set(all).size, 2 * PORTS)
  assert(all.every((port) => port > 1_024 && port < 32_768))
})
