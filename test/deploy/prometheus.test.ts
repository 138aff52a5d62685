/**
 * The deploy kit by the programs that read it: promtool, docker-compose, and a Prometheus that
 * scrapes the kit's collector and site. Run by `npm run test:all`, and by name. Needs `npm run
 * build` before.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { promisify } from 'node:util'
import { TO_A_PAGE } from '../../src/support/http.fixture.js'
import { spawned } from '../docs/spawned.js'
import { commandOfImage } from '../docs/units.js'
import { binary, ensureBinaries } from '../servers/binaries.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { freePort } from '../servers/free-port.js'
import { removeFolder, temporaryFolder } from '../servers/process.js'
import { sharedMemcached, sharedMysqlUrl } from '../servers/shared.js'
import { KIT, kitFile, metricsIn } from './kit.js'
import { startSite } from './site.js'

const run = promisify(execFile)

before(() => ensureBinaries(['prometheus', 'promtool', 'docker-compose']))

test('promtool finds nothing wrong with the configuration and the alerts', async () => {
  await run(binary('promtool'), ['check', 'config', join(KIT, 'prometheus/prometheus.yml')])
})

test('the alerts fire when they have to, and not before', async () => {
  await run(binary('promtool'), ['test', 'rules', join(KIT, 'prometheus/alerts.test.yml')])
})

test('a wrong test of an alert would be seen', async () => {
  const folder = temporaryFolder('alerts')
  try {
    cpSync(join(KIT, 'prometheus'), folder, { recursive: true })
    const wrong = kitFile('prometheus/alerts.test.yml').replace('takes 12s', 'takes 13s')
    writeFileSync(join(folder, 'alerts.test.yml'), wrong)
    await assert.rejects(
      run(binary('promtool'), ['test', 'rules', join(folder, 'alerts.test.yml')]),
      /WideCacheCollectorTooSlow/,
    )
  } finally {
    removeFolder(folder)
  }
})

test('compose takes the file with the passwords of env.example, not without', async () => {
  const config = (...args: string[]) =>
    run(binary('docker-compose'), [...args, '-f', join(KIT, 'compose.yaml'), 'config'], {
      env: { PATH: process.env['PATH'] },
    })
  const { stdout } = await config('--env-file', join(KIT, 'env.example'))
  for (const service of [
    'site',
    'collector',
    'memcached-1',
    'memcached-2',
    'mariadb',
    'prometheus',
  ]) {
    assert.match(stdout, new RegExp(`^  ${service}:$`, 'm'))
  }
  assert.match(stdout, /mysql:\/\/wide_cache:change-me@mariadb\/site/)
  await assert.rejects(config(), /DATABASE_PASSWORD/)
})

/** The kit's configuration for servers of this machine, and with shorter waits. */
function configuration(collector: string, site: string): string {
  return kitFile('prometheus/prometheus.yml')
    .replaceAll('15s', '1s')
    .replace('collector:9464', collector)
    .replace(/dns_sd_configs:[^]*?port: \d+/, `static_configs: [{ targets: ["${site}"] }]`)
}

test('a Prometheus scrapes collector and site, and tells when the collector ends', async () => {
  const [cache, database] = await Promise.all([sharedMemcached(), sharedMysqlUrl()])
  const site = await startSite(cache, database)
  const [node = '', ...command] = commandOfImage(kitFile('Dockerfile'), 'collector')
  const collector = spawned(
    node,
    command.map((word) => word.replace(/^0\.0\.0\.0:\d+$/, '127.0.0.1:0')),
    site.folder,
    { WIDE_CACHE_SERVERS: cache, WIDE_CACHE_DATABASE_URL: database },
  )
  const folder = temporaryFolder('prometheus')
  const port = await freePort()
  let prometheus: ReturnType<typeof spawned> | undefined
  try {
    await eventually('the site answers', () =>
      fetch(site.origin, { headers: TO_A_PAGE }).then(
        ({ ok }) => ok,
        () => false,
      ),
    )
    const listening = await collector.says(/listening on http:\/\/(\S+)/)
    cpSync(join(KIT, 'prometheus'), folder, { recursive: true })
    writeFileSync(join(folder, 'prometheus.yml'), configuration(listening, site.operations))
    const impatient = kitFile('prometheus/alerts.yml').replaceAll(/for: \d+m/g, 'for: 1s')
    writeFileSync(join(folder, 'alerts.yml'), impatient)
    prometheus = spawned(
      binary('prometheus'),
      [
        `--config.file=${join(folder, 'prometheus.yml')}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      folder,
    )
    const query = async (text: string): Promise<Series[]> => {
      const url = `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(text)}`
      const response = await fetch(url)
      assert.equal(response.status, 200, text)
      return ((await response.json()) as { data: { result: Series[] } }).data.result
    }
    const shows = (text: string, value: string) =>
      eventually(`${text} is ${value}`, async () => {
        const series = await query(text).catch(() => [])
        return series.length > 0 && series.every(({ value: [, found] }) => found === value)
      })
    await shows('count(up == 1)', '2')
    // The one visit, which the collector has brought to SQL.
    await shows('wide_cache_committed_total{job="wide-cache-collector"}', '1')
    const alerts = kitFile('prometheus/alerts.yml')
    for (const expression of expressionsOf(alerts)) await query(expression)
    for (const metric of metricsIn(alerts)) {
      // A server that has not failed has no count of its failures.
      if (metric.endsWith('_errors_total')) assert.deepEqual(await query(metric), [], metric)
      else await eventually(metric, async () => (await query(metric)).length > 0)
    }
    const firing = 'count(ALERTS{alertstate="firing"}) or vector(0)'
    await shows(firing, '0')
    process.kill(collector.pid, 'SIGTERM')
    assert.equal(await collector.ended(), 0, collector.output())
    await shows('ALERTS{alertstate="firing",alertname="WideCacheCollectorDown"}', '1')
  } finally {
    for (const one of [prometheus, collector, site]) one?.kill()
    for (const one of [folder, site.folder]) removeFolder(one)
  }
})

interface Series {
  readonly value: [time: number, value: string]
}

function expressionsOf(alerts: string): string[] {
  return [...alerts.matchAll(/^ +expr: (.*)$/gm)].map(([, expression = '']) => expression)
}
