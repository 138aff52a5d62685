import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Activity } from '../activity/activity.js'
import { createActivity } from '../activity/site-activity.js'
import { memory } from '../cache/memory.js'
import { mysql } from '../database/mysql/mysql.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { eventually } from '../support/eventually.fixture.js'
import { BROWSER, serving, TO_A_PAGE } from '../support/http.fixture.js'
import { WideCache } from '../wide-cache/wide-cache.js'
import { freePort } from '../../test/servers/free-port.js'
import { removeFolder, temporaryFolder } from '../../test/servers/process.js'
import { sharedMemcached, sharedMysqlUrl, sharedPostgresUrl } from '../../test/servers/shared.js'
import { USAGE } from './usage.js'
import { TYPESCRIPT } from '../../scripts/typescript/exec-argv.js'

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url))
const WEB_PROCESS = fileURLToPath(new URL('./web-process.fixture.ts', import.meta.url))
const INDEX = fileURLToPath(new URL('../index.ts', import.meta.url))

const folder = temporaryFolder('cli')
after(() => removeFolder(folder))
const running = new Set<ChildProcess>()
after(() => {
  for (const child of running) child.kill('SIGKILL')
})

/** Starts a program of the sources in an empty folder, with only the environment that is named. */
function start(program: string, args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [...TYPESCRIPT, program, ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) =>
    child.once('close', (code, signal) => resolve(code ?? signal)),
  )
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (data) => {
    stderr += data
  })
  void ended.then(() => running.delete(child))
  return {
    child,
    ended,
    stderr: () => stderr,
    kill: (signal: NodeJS.Signals) => child.kill(signal),
  }
}

async function run(args: readonly string[], env?: Record<string, string>) {
  const { child, ended, stderr } = start(MAIN, args, env)
  const [stdout, status] = await Promise.all([text(child.stdout), ended])
  return { status, stdout, stderr: stderr() }
}

/** One line, on stderr only. */
function assertOneLine(
  { stdout, stderr }: { stdout: string; stderr: string },
  pattern: RegExp,
): void {
  assert.equal(stdout, '')
  assert.match(stderr, /^wide-cache: [^\n]+\n$/)
  assert.match(stderr, pattern)
}

test('--help tells of both commands and --version of the version', async () => {
  const [help, version] = await Promise.all([run(['--help']), run(['collect', '--version'])])
  assert.deepEqual([help.status, help.stderr, help.stdout], [0, '', USAGE])
  assert.deepEqual([version.status, version.stderr], [0, ''])
  assert.match(version.stdout, /^\d+\.\d+\.\d+\n$/)
})

test('a reader that goes away is no failure', async () => {
  const { child, ended, stderr } = start(MAIN, ['--help'])
  child.stdout.destroy()
  assert.equal(await ended, 0)
  assert.equal(stderr(), '')
  // What would go on for ever ends, too.
  const file = join(folder, 'watched.db')
  const database = sqlite(file)
  await database.migrate()
  await database.close()
  const watch = start(MAIN, ['status', '--watch', '--database', `sqlite:${file}`])
  watch.child.stdout.destroy()
  await eventually('it has ended', () => watch.child.exitCode !== null)
  assert.equal(await watch.ended, 0)
  assert.equal(watch.stderr(), '')
})

// Which lines are wrong, and what is said of them, is tested in arguments.test.ts.
describe('bad input ends with status 2 and one line that says why without the value', () => {
  const DAY = ['--from', '2026-05-17', '--to', '2026-05-18']
  const cases: [string, readonly string[], RegExp, Record<string, string>?][] = [
    ['a wrong command line', ['migrate', 's3cret'], /migrate takes .* \(see wide-cache --help\)/],
    [
      'a wrong option, from the environment',
      ['migrate'],
      /WIDE_CACHE_DATABASE_URL\)" is "mongodb:…"/,
      { WIDE_CACHE_DATABASE_URL: 'mongodb://u:s3cret@h/d' },
    ],
    [
      'no cache',
      ['collect'],
      /memory: cache is private .* WIDE_CACHE_SERVERS \(or MEMCACHE_SERVERS\), or --cache/,
    ],
    [
      'an export from after its end',
      ['export', '--from', '2026-05-18', '--to', '2026-05-17'],
      /"from" is "2026-05-18"; allowed: a moment that is not after "to"/,
    ],
    ['too many values', ['export', ...DAY, '--top', 'page', '--n', '1001'], /"n" is 1001/],
    [
      'an activity without visits',
      ['export', ...DAY, '--name', 's3cret'],
      /--name: no visits are recorded under it/,
      { DATABASE_URL: `sqlite:${join(folder, 'no-visits.db')}` },
    ],
    [
      'the removal of the sum of all other values',
      ['remove-value', '--dimension', 'page', '--value', '(other)'],
      /--value: \(other\) is no value/,
    ],
    ['a database that is not there', ['quarantine', 'list'], /there is no database sqlite:.*\.db;/],
  ]
  before(async () => {
    const database = sqlite(join(folder, 'no-visits.db'))
    await database.migrate()
    await database.close()
  })
  after(() => assert(!existsSync(join(folder, 'wide-cache.db'))))
  for (const [name, args, pattern, env] of cases) {
    test(name, async () => {
      const ran = await run(args, env)
      assertOneLine(ran, pattern)
      assert.equal(ran.status, 2)
      assert.doesNotMatch(ran.stderr, /s3cret/)
    })
  }
})

test('migrate makes the tables, by flag or DATABASE_URL, and accepts existing ones', async () => {
  const file = join(folder, 'made.db')
  for (const [args, env] of [
    [['--database', `sqlite:${file}`], {}],
    [['--database', `sqlite:${file}`], {}],
    [[], { DATABASE_URL: await sharedMysqlUrl() }],
    [[], { DATABASE_URL: await sharedPostgresUrl() }],
  ] as const) {
    const ran = await run(['migrate', ...args], env)
    assertOneLine(ran, /up to date/)
    assert.equal(ran.status, 0)
  }
  assert(existsSync(file))
})

test('migrate ends with status 2 and one line for an absent server or a newer schema', async () => {
  const away = await run([
    'migrate',
    '--database',
    `mysql://u:s3cret@127.0.0.1:${await freePort()}/d`,
  ])
  assertOneLine(away, /ECONNREFUSED/)
  assert.doesNotMatch(away.stderr, /s3cret/)
  assert.equal(away.status, 2)

  const file = join(folder, 'newer.db')
  const database = sqlite(file)
  await database.migrate()
  await database.query(
    'INSERT INTO wide_cache_migrations (part, version, name, applied_at, oldest) VALUES ' +
      "('activity', 9999, 'future', 0, 9999)",
  )
  await database.close()
  const newer = await run(['migrate', '--database', `sqlite:${file}`])
  assertOneLine(newer, /newer/)
  assert.equal(newer.status, 2)
})

describe('export', () => {
  const DAY = Date.UTC(2026, 4, 17)
  const env = { DATABASE_URL: `sqlite:${join(folder, 'export.db')}` }
  const flags = ['--name', 'shop', '--from', '2026-05-17', '--to', '2026-05-18']
  let activity: Activity
  before(async () => {
    activity = createActivity({
      name: 'shop',
      database: env.DATABASE_URL,
      cache: memory(),
      collect: false,
    })
    for (const [page, hour, visitor] of [
      ['/a', 0, 'anna'],
      ['/a', 3, 'anna'],
      ['/a', 3, 'bert'],
      ['=1+1,"x"', 23, 'carla'],
      ['/late', 25, 'carla'],
    ] as const) {
      activity.record({ page, visitor, at: DAY + hour * 3_600_000 })
    }
    await activity.flush()
    await activity.drain({ all: true })
  })
  after(() => activity.close())

  async function exported(...args: string[]): Promise<string> {
    const ran = await run(['export', ...flags, ...args], env)
    assert.deepEqual([ran.status, ran.stderr], [0, ''])
    return ran.stdout
  }

  test('prints the days as CSV, each figure as history() has it', async () => {
    const csv = await exported('--to', '2026-05-20')
    assert.equal(
      csv,
      'start,pageViews,visitors,bots\r\n2026-05-17T00:00:00.000Z,4,3,0\r\n' +
        '2026-05-18T00:00:00.000Z,1,1,0\r\n2026-05-19T00:00:00.000Z,0,0,0\r\n',
    )
  })

  test('prints the hours of any time as lines of JSON', async () => {
    const lines = await exported('--from', '2024-05-17', '--by', 'hour', '--format', 'ndjson')
    const rows = lines
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown)
    assert.equal(rows.length, 731 * 24)
    const query = { from: DAY, to: DAY + 86_400_000, by: 'hour' } as const
    assert.deepEqual(rows.slice(-24), await activity.history(query))
  })

  test('prints bots and the other measure beside that of the full name', async () => {
    const own = { DATABASE_URL: `sqlite:${join(folder, 'measures.db')}` }
    const blog = createActivity({
      name: 'blog',
      database: own.DATABASE_URL,
      cache: memory(),
      collect: false,
    })
    const handler = blog.router({ mountPath: '/activity' })
    await serving(handler, async (port) => {
      const from = (agent: string) => ({ 'user-agent': agent, 'sec-fetch-site': 'same-origin' })
      const requestFrom = (agent: string) =>
        ({ url: '/', headers: from(agent), socket: { remoteAddress: '192.0.2.1' } }) as never
      blog.record(requestFrom(BROWSER), { page: '/a' })
      for (let i = 0; i < 2; i++) blog.record(requestFrom('Googlebot/2.1'), { page: '/b' })
      for (const page of ['/a', '/a', '/c']) {
        const body = JSON.stringify({ page, referrer: '' })
        const url = `http://127.0.0.1:${port}/activity/seen`
        const posted = { method: 'POST', headers: from(BROWSER), body }
        assert.equal((await fetch(url, posted)).status, 204)
      }
      await blog.flush()
      await blog.drain({ all: true })
    })
    await blog.close()
    // Of two days, should midnight pass.
    const now = Date.now()
    const [day, next] = [now - 86_400_000, now + 86_400_000].map((time) =>
      new Date(time).toISOString().slice(0, 10),
    )
    const exported = async (name: string, ...args: string[]): Promise<string> => {
      const flags = ['--name', name, '--from', day!, '--to', next!, ...args]
      const ran = await run(['export', ...flags], own)
      assert.deepEqual([ran.status, ran.stderr], [0, ''])
      return ran.stdout
    }
    const sums = async (name: string) => {
      const [header, ...days] = (await exported(name)).split('\r\n')
      const figures = days.map((day) => day.slice(day.indexOf(',')))
      return [header, figures.filter((day) => /[1-9]/.test(day))]
    }
    assert.deepEqual(await sums('blog'), [
      'start,pageViews,visitors,bots,seen,unseen',
      [',1,1,2,3,0'],
    ])
    assert.deepEqual(await sums('blog.seen'), [
      'start,pageViews,visitors,bots,served,unseen',
      [',3,1,2,1,0'],
    ])
    assert.deepEqual(await sums('blog.bots'), ['start,pageViews,visitors', [',2,0']])
    const top = ['--top', 'page']
    assert.equal(await exported('blog', ...top), 'value,pageViews,seen\r\n/a,1,2\r\n')
    assert.equal(
      await exported('blog.seen', ...top),
      'value,pageViews,served\r\n/a,2,1\r\n/c,1,0\r\n',
    )
    assert.equal(await exported('blog.bots', ...top), 'value,pageViews\r\n/b,2\r\n')
    const ofBot = await exported('blog', '--dimension', 'bot', '--value', 'Googlebot')
    assert.match(ofBot, /^start,pageViews\r\n[^]*,2\r\n/)
    // A note is of the day, whichever figures it explains.
    const noted = await run(['note', day!, 'Released 2.0', '--name', 'blog.seen'], own)
    assertOneLine(noted, /noted on \S+ of "blog"$/m)
  })

  test('prints the values of a dimension; what a formula would be is none', async () => {
    const top = ['--top', 'page', '--to', '2026-05-19']
    assert.equal(
      await exported(...top),
      'value,pageViews\r\n/a,3\r\n/late,1\r\n"\'=1+1,""x""",1\r\n',
    )
    assert.equal(
      await exported(...top, '--format', 'ndjson', '--n', '1'),
      '{"value":"/a","pageViews":3}\n',
    )
  })

  test('prints the history of one value, a page by any spelling of its path', async () => {
    const one = ['--dimension', 'page', '--value', '/%6Cate', '--to', '2026-05-19']
    assert.equal(
      await exported(...one),
      'start,pageViews\r\n2026-05-17T00:00:00.000Z,0\r\n2026-05-18T00:00:00.000Z,1\r\n',
    )
  })

  test('says which names and dimensions there are', async () => {
    for (const [args, said] of [
      [['--name', 'shoppe'], /names with visits: shop /],
      [['--dimension', 'page'], /--value is missing/],
      [['--value', '/late'], /--value goes with --dimension/],
      [['--top', 'page', '--value', '/late'], /--value does not go with --top/],
      [['--top', 'country'], /--top: this dimension has no values; dimensions with values: page /],
    ] as const) {
      const ran = await run(['export', ...flags, ...args], env)
      assertOneLine(ran, said)
      assert.equal(ran.status, 2)
    }
  })

  test('certificate prints a day, and ends with 1 if it does not balance', async () => {
    const figures = await activity.certificate('2026-05-17')
    const shop = ['certificate', '2026-05-17', '--name', 'shop']
    const balanced = await run(shop, env)
    assert.deepEqual([balanced.status, balanced.stderr], [0, ''])
    assert.match(balanced.stdout, /^day +2026-05-17 \(UTC\), open: as of now\npage views +4\n/)
    assert.match(balanced.stdout, /\ncommitted +5\n.*\nbalanced +yes\n$/s)
    const database = sqlite(join(folder, 'export.db'))
    await database.query('UPDATE activity_hours SET views = views + 1')
    const changed = await run([...shop, '--json'], env)
    await database.query('UPDATE activity_hours SET views = views - 1')
    await database.close()
    assert.deepEqual([changed.status, changed.stderr], [1, ''])
    assert.deepEqual(JSON.parse(changed.stdout), {
      name: 'shop',
      ...figures,
      pageViews: 7,
      allPageViews: 9,
      balanced: false,
      findings: [
        'the hours have 9 page views, and the ledger has committed 5 rows',
        'its seconds have 4 page views, and its hours have 7',
        'its values of page by the hour have 4 page views, and its hours have 7',
      ],
    })
    const before = await run(['certificate', '2026-05-01', '--name', 'shop'], env)
    assert.match(
      before.stdout,
      /^day +2026-05-01 \(UTC\), nothing is known of it: the first page views are of 2026-05-17\n/,
    )
    assert.equal(before.status, 0)
  })

  test('note writes what happened on a day, and removes it', async () => {
    const day = ['note', '2026-05-18', '--name', 'shop']
    const written = await run([...day, 'Released 2.0'], env)
    assertOneLine(written, /noted on 2026-05-18 of "shop"/)
    assert.equal(written.status, 0)
    assertOneLine(await run([...day, '--remove'], env), /removed the note on 2026-05-18 of "shop"/)
  })

  test('remove-value takes a page out of the sums, without showing it', async () => {
    const args = ['--name', 'shop', '--dimension', 'page', '--value', '/%6Cate']
    const ran = await run(['remove-value', ...args], env)
    assertOneLine(ran, /removed from 1 hour, 0 days and 1 visit of "shop"/)
    assert.equal(ran.status, 0)
    assert.equal(
      await exported('--top', 'page', '--from', '2026-05-18', '--to', '2026-05-19'),
      'value,pageViews\r\n(other),1\r\n',
    )
  })
})

test('with --log json a line is an object, also that of a wrong command line', async () => {
  const { status, stdout, stderr } = await run(['migrate', '--log=json', '--wrong=s3cret'])
  assert.deepEqual([status, stdout], [2, ''])
  const { time, ...line } = JSON.parse(stderr) as Record<string, unknown>
  assert(typeof time === 'string' && Date.parse(time) > 0)
  const message = "Unknown option '--wrong' (see wide-cache --help)"
  assert.deepEqual(line, { level: 'error', message })
})

test('collect waits for an absent database, and still ends with 0 on SIGTERM', async () => {
  const env = { MEMCACHE_SERVERS: await sharedMemcached() }
  const database = `mysql://u:s3cret@127.0.0.1:${await freePort()}/d`
  const args = ['collect', '--collect', '* * * * * *', '--database', database]
  const collector = start(MAIN, args, env)
  await eventually('a word about the database', () => /will be retried/.test(collector.stderr()))
  // What other users of the machine see of it.
  const title = readFileSync(`/proc/${collector.child.pid}/cmdline`, 'utf8')
  assert.match(title, /^wide-cache collect\0/)
  assert.doesNotMatch(title, /s3cret/)
  collector.kill('SIGTERM')
  assert.equal(await collector.ended, 0)
  assert.doesNotMatch(collector.stderr(), /s3cret/)
})

/** A web process that does not collect, its port, and what it answers. */
async function startSite(name: string, env: Record<string, string>) {
  const web = start(WEB_PROCESS, [name], env)
  const port = await eventually(
    'the web process',
    () =>
      new Promise<number>((resolve) =>
        web.child.stdout.once('data', (data) => resolve(Number(data))),
      ),
  )
  const json = async (path: string): Promise<Record<string, unknown>> =>
    (await fetch(`http://127.0.0.1:${port}${path}`)).json() as Promise<Record<string, unknown>>
  /** Views of pages by two visitors. */
  const view = async (times: number): Promise<void> => {
    for (let view = 0; view < times; view++) {
      await (
        await fetch(`http://127.0.0.1:${port}/page/${view % 7}`, {
          headers: { ...TO_A_PAGE, 'user-agent': view % 3 ? BROWSER : `${BROWSER} Edg/126` },
        })
      ).text()
    }
  }
  /** Views of an item by the visitors named. */
  const read = async (item: string, viewers: readonly string[]): Promise<void> => {
    for (const viewer of viewers) {
      await (
        await fetch(`http://127.0.0.1:${port}/threads/${item}?viewer=${viewer}`, {
          headers: TO_A_PAGE,
        })
      ).text()
    }
  }
  const figures = (views: number) =>
    eventually(`${views} page views`, async () => {
      const figures = await json('/activity')
      return figures['pageViews'] === views && figures
    })
  return { web, json, view, read, figures }
}

const allCommitted = (issued: number) => ({
  issued,
  committed: issued,
  duplicate: 0,
  quarantined: 0,
  dropped: 0,
  outstanding: 0,
  owed: 0,
  lost: 0,
})

test('collect takes all rows of web processes that do not collect, of any width', async () => {
  const name = `cli-${randomUUID().slice(0, 8)}`
  const env = { MEMCACHE_SERVERS: await sharedMemcached(), DATABASE_URL: await sharedPostgresUrl() }
  const { web, json, view, figures } = await startSite(name, env)
  const collector = start(
    MAIN,
    [
      'collect',
      '--name',
      // All measures of an activity are collected together.
      `${name}.seen`,
      '--width',
      '4',
      '--layer-seconds',
      '2',
      '--drain-after-layers',
      '2',
      '--collect',
      '* * * * * *',
    ],
    env,
  )
  await view(30)
  assert.equal((await figures(30))['visitors'], 2)
  assert.deepEqual(await json('/ledger'), allCommitted(30))
  for (const process of [collector, web]) {
    process.kill('SIGTERM')
    assert.equal(await process.ended, 0)
  }
  assert.doesNotMatch(collector.stderr(), /hits/)
})

test('without a name it collects all activities and hits, new ones too, only these', async () => {
  const env = { MEMCACHE_SERVERS: await sharedMemcached(), DATABASE_URL: await sharedMysqlUrl() }
  const collector = start(
    MAIN,
    ['collect', '--layer-seconds', '1', '--drain-after-layers', '2', '--collect', '* * * * * *'],
    env,
  )
  await eventually('a word that there is nothing yet', () =>
    /no process with a shared cache has used this database yet; collecting begins/.test(
      collector.stderr(),
    ),
  )
  const sites = []
  for (const name of [`one-${randomUUID().slice(0, 8)}`, `two-${randomUUID().slice(0, 8)}`]) {
    const site = await startSite(name, env)
    sites.push(site)
    await site.view(9)
    // Who comes again counts once.
    await site.read('7', ['anna', 'bert', 'anna'])
    await site.read('8', ['anna'])
    assert.equal((await site.figures(9))['visitors'], 2)
    assert.deepEqual(await site.json('/ledger'), allCommitted(9))
    const hits = await eventually('all hits in the database', async () => {
      const { top, ...others } = await site.json('/hits/7')
      // Each is read by a statement of its own.
      const isThere = JSON.stringify(top) === '[["7",2],["8",1]]' && others['count'] === 2
      return isThere && others
    })
    assert.deepEqual(hits, { count: 2, ledger: allCommitted(4) })
    for (const [grid, kind] of [
      [name, 'activity'],
      [`hits.${name}`, 'hits'],
    ]) {
      assert(collector.stderr().includes(`collecting "${grid}" (${kind})`), collector.stderr())
    }
    await eventually('a word about the rows that only the site can commit', () =>
      collector
        .stderr()
        .includes(`not collecting "rows.${name}": "rows.${name}" has rows of kind "clicks"`),
    )
  }
  for (const { kill, ended } of [collector, ...sites.map(({ web }) => web)]) {
    kill('SIGTERM')
    assert.equal(await ended, 0)
  }
  assert.equal(collector.stderr().match(/has rows of kind/g)?.length, 2, 'once for each name')

  const database = mysql(env.DATABASE_URL)
  const { rows } = await database.query(
    'SELECT kind, keep_seconds, history_days, repeat_seconds FROM wide_cache_names ORDER BY kind',
  )
  assert.deepEqual(
    rows.map(({ kind, keep_seconds: keep, history_days: days, repeat_seconds: repeat }) => [
      kind,
      Number(keep),
      Number(days),
      Number(repeat),
    ]),
    [
      ['activity', 2 * 86_400, 3, 0],
      ['activity', 2 * 86_400, 3, 0],
      ['clicks', 0, 0, 0],
      ['clicks', 0, 0, 0],
      ['hits', 3 * 86_400, 0, 86_400],
      ['hits', 3 * 86_400, 0, 86_400],
    ],
  )
  await database.close()
})

test('a name that only its own processes can collect is refused with status 2', async () => {
  const file = join(folder, 'own.db')
  const database = sqlite(file)
  const wide = new WideCache({
    name: 'clicks',
    database,
    cache: `memcached://${await sharedMemcached()}`,
    collect: false,
    commit: async () => {},
  })
  await wide.migrate()
  await Promise.all([wide.close(), database.close()])
  const ran = await run(['collect', '--name', 'clicks'], {
    MEMCACHE_SERVERS: await sharedMemcached(),
    DATABASE_URL: `sqlite:${file}`,
  })
  assertOneLine(
    ran,
    /"clicks" has rows of kind "rows", which only the WideCache of your own processes can collect/,
  )
  assert.equal(ran.status, 2)
})

test('doctor finds nothing on a site that works, and ends by itself', async () => {
  const env = { MEMCACHE_SERVERS: await sharedMemcached(), DATABASE_URL: await sharedMysqlUrl() }
  const database = mysql(env.DATABASE_URL)
  await database.migrate()
  await database.close()
  const { stdout, stderr } = await run(['doctor', '--json'], env)
  assert.equal(stderr, '')
  const { findings } = JSON.parse(stdout) as { findings: Record<string, string>[] }
  assert.deepEqual(
    // Other tests fill this memcached.
    findings.filter(({ check, severity }) => check !== 'cache' && severity !== 'ok'),
    [],
  )
  assert.deepEqual(findings.filter(({ check }) => check === 'whole way').length, 1)
})

test('collect --module collects what a file exports, and ends with 0 on SIGTERM', async () => {
  const file = join(folder, 'clicks.mjs')
  const url = await sharedMysqlUrl()
  writeFileSync(
    file,
    `import { WideCache } from ${JSON.stringify(INDEX)}
    export const clicks = new WideCache({
      name: 'clicks', collect: false, layerSeconds: 1, drainAfterLayers: 2,
      async commit(rows, tx) {
        for (const row of rows) await tx.query('INSERT INTO clicks VALUES (?)', [row])
      },
    })
    clicks.append('buy')`,
  )
  const database = mysql(url)
  await database.query('CREATE TABLE clicks (button VARCHAR(20))')
  const collector = start(
    MAIN,
    ['collect', '--module', './clicks.mjs', '--collect', '* * * * * *', '--log', 'json'],
    { MEMCACHE_SERVERS: await sharedMemcached(), DATABASE_URL: url },
  )
  await eventually('the row', async () => {
    const { rows } = await database.query('SELECT button FROM clicks')
    return rows.length === 1
  })
  collector.kill('SIGTERM')
  assert.equal(await collector.ended, 0)
  const { level, message } = JSON.parse(collector.stderr()) as Record<string, unknown>
  assert.deepEqual([level, message], ['info', 'collecting the export clicks'])
  await database.close()
})
