/**
 * The deploy kit: its unit, its image, and what its files say of each other. Its site runs on real
 * servers. `prometheus.test.ts` has what needs programs that few machines have. Needs `npm run
 * build` before.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { fileURLToPath } from 'node:url'
import { createActivity } from '../../src/activity/site-activity.js'
import { mysql } from '../../src/database/mysql/mysql.js'
import { TO_A_PAGE } from '../../src/support/http.fixture.js'
import { pageOf } from '../docs/markdown.js'
import { checkDockerfile, checkUnit, commandOfImage, copiedBy } from '../docs/units.js'
import { executable } from '../servers/binaries.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { removeFolder } from '../servers/process.js'
import { sharedMemcached, sharedMysqlUrl } from '../servers/shared.js'
import { alertsOf, KIT, kitFile, metricsIn } from './kit.js'
import { startSite } from './site.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const UNIT = 'systemd/wide-cache-collector.service'
const VISITS = 20
const WORKERS = 4
/** Greatest exposure of the unit, of 10, by `systemd-analyze security`. */
const MOST_EXPOSED = 1.5

test('the unit is one of systemd, and reaches little of the machine', async () => {
  await checkUnit(kitFile(UNIT))
  const analyze = executable('systemd-analyze')
  // Beside checkUnit(), which wants no program, as on any machine without systemd.
  if (!analyze) return
  const { stdout } = await promisify(execFile)(analyze, [
    'security',
    '--offline=true',
    '--no-pager',
    join(KIT, UNIT),
  ])
  const exposure = Number(/exposure level[^:]*: ([\d.]+)/.exec(stdout)?.[1])
  assert(exposure <= MOST_EXPOSED, stdout)
})

test('the image is a Dockerfile with two stages, and the compose file builds these', () => {
  const dockerfile = kitFile('Dockerfile')
  checkDockerfile(dockerfile)
  const own = copiedBy(dockerfile).filter((file) => !file.endsWith('.tgz'))
  for (const file of own) assert(existsSync(join(KIT, file)), file)
  const targets = [...kitFile('compose.yaml').matchAll(/^ +target: (\w+)$/gm)].map(([, to]) => to!)
  assert.deepEqual(targets.toSorted(), ['collector', 'site'])
  for (const target of targets) assert(commandOfImage(dockerfile, target).length > 1)
})

test('ports of health and metrics are the same in the image, compose and Prometheus', () => {
  const [image, compose, prometheus] = [
    'Dockerfile',
    'compose.yaml',
    'prometheus/prometheus.yml',
  ].map(kitFile)
  const collector = /--listen", "0\.0\.0\.0:(\d+)"/.exec(image!)?.[1]
  const site = /OPERATIONS_PORT \|\| (\d+)/.exec(kitFile('server.js'))?.[1]
  assert(collector && site)
  assert.match(compose!, new RegExp(`127\\.0\\.0\\.1:${collector}/healthz`))
  assert.match(compose!, new RegExp(`127\\.0\\.0\\.1:${site}/readyz`))
  assert.match(prometheus!, new RegExp(`"collector:${collector}"`))
  assert.match(prometheus!, new RegExp(`port: ${site}$`, 'm'))
  assert.match(kitFile(UNIT), new RegExp(`--listen 127\\.0\\.0\\.1:${collector}$`, 'm'))
})

test('each alert has a test that fires it, and a row in docs/troubleshooting.md', () => {
  const alerts = alertsOf(kitFile('prometheus/alerts.yml'))
  assert(alerts.length > 10)
  const fired = kitFile('prometheus/alerts.test.yml')
    .split(/^ +- (?=eval_time)/m)
    .filter((one) => one.includes('exp_alerts:'))
    .map((one) => /alertname: (\w+)/.exec(one)?.[1])
  assert.deepEqual([...new Set(fired)].toSorted(), alerts.toSorted())
  const rows = [...pageOf('docs/troubleshooting.md').text.matchAll(/^\| `(WideCache\w+)`/gm)]
  assert.deepEqual(rows.map(([, name = '']) => name).toSorted(), alerts.toSorted())
})

test('the metrics of the alerts and of their tests are those of docs/metrics.md', () => {
  const known = metricsIn(pageOf('docs/metrics.md').text)
  for (const file of ['alerts.yml', 'alerts.test.yml']) {
    const named = metricsIn(kitFile(`prometheus/${file}`))
    assert(named.length > 5)
    assert.deepEqual(
      named.filter((name) => !known.includes(name)),
      [],
      file,
    )
  }
})

test('the package has the kit', () => {
  const { files } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    files: string[]
  }
  assert(files.includes('deploy'))
  for (const file of ['README.md', 'env.example', 'systemd/collector.env']) {
    assert(existsSync(join(KIT, file)), file)
  }
})

test('four workers serve health and metrics on ports of their own, and lose no visit', async () => {
  const [cache, database] = await Promise.all([sharedMemcached(), sharedMysqlUrl()])
  const site = await startSite(cache, database, {}, WORKERS)
  const reader = createActivity({ cache, database, collect: false })
  try {
    const [host, port] = site.operations.split(':')
    const ask = (path: string, worker: number) =>
      fetch(`http://${host}:${Number(port) + worker}${path}`)
    const workers = Array.from({ length: WORKERS }, (_, worker) => worker)
    for (const worker of workers) {
      await eventually('the worker is ready', () =>
        ask('/readyz', worker).then(
          ({ status }) => status === 200,
          () => false,
        ),
      )
    }
    for (let visit = 0; visit < VISITS; visit++) {
      const page = await fetch(site.origin, { headers: TO_A_PAGE })
      assert.match(await page.text(), /<site-activity>/)
    }
    assert.equal((await fetch(`${site.origin}/activity/widget.js`)).status, 200)
    assert.equal((await fetch(`${site.origin}/metrics`)).status, 404)
    let issued = 0
    for (const worker of workers) {
      assert.deepEqual(await (await ask('/healthz', worker)).json(), { live: true, reasons: [] })
      const metrics = await ask('/metrics', worker)
      assert.match(metrics.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/)
      const text = await metrics.text()
      issued += Number(
        /^wide_cache_process_issued_total\{name="activity"\} (\d+)$/m.exec(text)?.[1],
      )
    }
    assert.equal(issued, VISITS)
    process.kill(site.pid, 'SIGTERM')
    assert.equal(await site.ended(), 0, site.output())
    assert.equal((await reader.ledger()).committed, VISITS)
  } finally {
    site.kill()
    await reader.close()
    removeFolder(site.folder)
  }
})

test('TRUST_PROXY=1 tells visitors behind a proxy apart; what is no proxy is refused', async () => {
  const [cache, database] = await Promise.all([sharedMemcached(), sharedMysqlUrl()])
  const site = await startSite(cache, database, { TRUST_PROXY: '1' })
  const sql = mysql(database)
  try {
    await eventually('the site answers', () =>
      fetch(site.origin).then(
        () => true,
        () => false,
      ),
    )
    for (let visitor = 1; visitor <= 5; visitor++) {
      await fetch(site.origin, {
        headers: { ...TO_A_PAGE, 'x-forwarded-for': `192.0.2.${visitor}` },
      })
    }
    process.kill(site.pid, 'SIGTERM')
    assert.equal(await site.ended(), 0, site.output())
    const { rows } = await sql.query('SELECT visitor FROM activity_visitors')
    assert.equal(rows.length, 5)
  } finally {
    site.kill()
    await sql.close()
    removeFolder(site.folder)
  }
  const wrong = await startSite(cache, database, { TRUST_PROXY: 'true' })
  try {
    assert.equal(await wrong.ended(), 1)
    assert.match(wrong.output(), /TRUST_PROXY is "true"; allowed: the number of proxies/)
  } finally {
    wrong.kill()
    removeFolder(wrong.folder)
  }
})

test('compose hands TRUST_PROXY on, and the example of its settings names it', () => {
  assert.match(kitFile('compose.yaml'), /^ +TRUST_PROXY: \$\{TRUST_PROXY:-\}$/m)
  assert.match(kitFile('env.example'), /^TRUST_PROXY=$/m)
})
