import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { sqlite } from '../database/sqlite/sqlite.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { removeFolder, temporaryFolder } from '../../test/servers/process.js'
import { eventually } from '../support/eventually.fixture.js'
import { UsageError } from './arguments.js'
import { collectModule } from './collect-module.js'

const NO_FLAGS = { collect: undefined, listen: undefined }
const folder = temporaryFolder('module')
after(() => removeFolder(folder))
const INDEX = fileURLToPath(new URL('../index.ts', import.meta.url))

/** A file of a site; a cache that is `shared` is another process's memory as far as it can tell. */
function written(name: string, body: string): string {
  const file = join(folder, name)
  writeFileSync(
    file,
    `import { createActivity, createHits, memory, sqlite, WideCache } from ${JSON.stringify(INDEX)}
    const cache = memory()
    const shared = new Proxy(cache, {
      get: (target, key) => (key === 'scope' ? 'shared' : target[key].bind(target)),
    })
    const database = sqlite(${JSON.stringify(join(folder, `${name}.db`))})
    const logger = { info() {}, warn() {}, error() {} }
    const timing = { collect: false, layerSeconds: 1, drainAfterLayers: 2 }
    const grid = { ...timing, cache: shared, database, logger }
    ${body}`,
  )
  return file
}

test('all that a file exports is collected, each once, and closed at the end', async () => {
  const file = written(
    'site.mjs',
    `await database.query('CREATE TABLE clicks (button TEXT)')
    const clicks = new WideCache({
      ...grid, name: 'clicks',
      async commit(rows, tx) {
        for (const row of rows) await tx.query('INSERT INTO clicks VALUES (?)', [row])
      },
    })
    export const threads = createHits({ ...grid, name: 'threads' })
    export const settings = { colour: 'red' }
    export { clicks }
    export default createActivity(grid)
    export const same = clicks
    clicks.append('buy')
    threads.record('7')`,
  )
  const log = keptLog()
  const stop = new AbortController()
  const collecting = collectModule(file, { ...NO_FLAGS, collect: '* * * * * *' }, log, stop.signal)
  const database = sqlite(join(folder, 'site.mjs.db'))
  const has = async (sql: string): Promise<boolean> =>
    (await database.query(sql).catch(() => ({ rows: [] }))).rows.length === 1
  await eventually('the rows in SQL', async () => has("SELECT 1 FROM clicks WHERE button = 'buy'"))
  await eventually('the hits', () => has('SELECT 1 FROM hits_counts WHERE hits = 1'))
  stop.abort()
  await collecting
  assert.deepEqual(log.lines.sort(), [
    'wide-cache: collecting the export clicks',
    'wide-cache: collecting the export default',
    'wide-cache: collecting the export threads',
  ])
  await database.close()
  const { clicks, threads }: Record<string, { ledger(): Promise<unknown> }> = await import(file)
  for (const one of [clicks, threads]) await assert.rejects(one!.ledger(), { code: 'CLOSED' })
})

test('a CommonJS file may export an object of them', async () => {
  const file = written('all.mjs', 'export default { clicks: createActivity(grid), n: 1 }')
  const log = keptLog()
  const stop = new AbortController()
  const collecting = collectModule(file, NO_FLAGS, log, stop.signal)
  await eventually('it collects', () => log.lines.length > 0)
  stop.abort()
  await collecting
  assert.deepEqual(log.lines, ['wide-cache: collecting the export clicks'])
})

test('a file that never ends loading does not keep the command from ending', async () => {
  const file = written('waits.mjs', 'await new Promise(() => {})')
  const stop = new AbortController()
  const collecting = collectModule(file, NO_FLAGS, keptLog(), stop.signal)
  stop.abort()
  await collecting
})

describe('a file that cannot be collected is refused, and what it exports is closed:', () => {
  const cases: [name: string, file: () => string, message: RegExp, line?: string][] = [
    ['no file', () => join(folder, 's3cret.mjs'), /^--module: there is no such file$/],
    ['a wrong cron line', () => 's3cret', /"collect" is "often"/, 'often'],
    [
      'nothing to collect',
      () =>
        written('none.mjs', 'export const n = null, shop = { close() {} }; await database.close()'),
      /^--module: the file exports nothing that can be collected; export a WideCache/,
    ],
    [
      'a file with a mistake',
      () => written('mistake.mjs', 'throw new Error("first\\nsecond")'),
      /^--module: the file cannot be loaded: first$/,
    ],
    [
      'a private cache',
      () => written('memory.mjs', 'export const one = createActivity({ ...grid, cache })'),
      /^--module: the export one has a memory: cache, which is private to its process/,
    ],
  ]
  for (const [name, file, message, line] of cases) {
    test(name, async () => {
      await assert.rejects(
        collectModule(
          file(),
          { ...NO_FLAGS, collect: line },
          keptLog(),
          new AbortController().signal,
        ),
        (error) => {
          assert(
            error instanceof UsageError ||
              error instanceof TypeError ||
              error instanceof RangeError,
          )
          assert.match(error.message.replace(/^wide-cache: /, ''), message)
          return true
        },
      )
    })
  }
})
