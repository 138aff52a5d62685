/**
 * `wide-cache collect` as docs/deployment.md, the unit and the image of `deploy/` start it: ends in
 * order on SIGTERM, and leaves no process. Needs `npm run build` before.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { createActivity } from '../../src/activity/site-activity.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { removeFolder } from '../servers/process.js'
import { sharedMemcached, sharedMysqlUrl } from '../servers/shared.js'
import { blocksIn } from './blocks.js'
import { newProject } from './project.js'
import { spawned } from './spawned.js'
import { commandOfImage, settingOf } from './units.js'

const VISITS = 50
const FILE = 'docs/deployment.md'
const blocks = blocksIn(FILE, readFileSync(new URL(`../../${FILE}`, import.meta.url), 'utf8'))
const block = (language: string, about = ''): string => {
  const [found, ...others] = blocks.filter(
    (one) => one.language === language && one.text.includes(about),
  )
  assert(found && others.length === 0, `${FILE} has one block of ${language} ${about}`)
  return found.text
}

const kit = (file: string): string =>
  readFileSync(new URL(`../../deploy/${file}`, import.meta.url), 'utf8')
const unit = kit('systemd/wide-cache-collector.service')
/** The tests run beside each other, so none of them has a port of its own choice. */
const onFreePort = (word: string): string => word.replace(/^.+:9464$/, '127.0.0.1:0')
/** Words of commands, and how they are told to end. */
const WAYS: [
  name: string,
  command: readonly string[],
  signal: NodeJS.Signals,
  around?: readonly string[],
][] = [
  ...block('sh', 'dist/cli/main.js')
    .split('\n')
    .map((line): (typeof WAYS)[number] => [line, line.split(' '), 'SIGTERM']),
  [
    'the unit of systemd',
    settingOf(unit, 'ExecStart').split(' '),
    settingOf(unit, 'KillSignal') as NodeJS.Signals,
  ],
  [
    'process 1 of a container',
    commandOfImage(kit('Dockerfile'), 'collector'),
    'SIGTERM',
    ['unshare', '--pid', '--fork', '--kill-child', '--'],
  ],
]

/** Why this machine does not let us have a first process of its own; `false` if it does. */
function whyNoNamespace(): string | false {
  try {
    execFileSync('unshare', ['--pid', '--fork', 'true'], { stdio: 'pipe' })
    return false
  } catch (error) {
    return (
      'this machine does not allow a namespace of processes: ' +
      `${error instanceof Error ? error.message.split('\n')[0] : error}`
    )
  }
}

/** The process that `unshare` has started, which is 1 in its namespace. */
function firstProcess(pid: number): number {
  const child = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim())
  assert.match(readFileSync(`/proc/${child}/status`, 'utf8'), /^NSpid:.*\t1$/m)
  return child
}

describe('wide-cache collect', { concurrency: true }, () => {
  for (const [name, [program = '', ...args], signal, around] of WAYS) {
    test(
      `${name}: collects all, and ends with status 0 on ${signal}, every process of it`,
      { skip: around ? whyNoNamespace() : false },
      async (t) => {
        const folder = newProject()
        const [cache, database] = await Promise.all([sharedMemcached(), sharedMysqlUrl()])
        const node = program.replace(/^(?:\/usr\/bin\/)?node$/, process.execPath)
        const quick = [
          '--collect',
          '* * * * * *',
          '--layer-seconds',
          '1',
          '--drain-after-layers',
          '2',
          '--cell-ttl-seconds',
          '120',
        ]
        const [first = '', ...rest] = [...(around ?? []), node, ...args.map(onFreePort), ...quick]
        const web = createActivity({
          cache,
          database,
          collect: false,
          layerSeconds: 1,
          drainAfterLayers: 2,
          cellTtlSeconds: 120,
        })
        const collector = spawned(first, rest, folder, {
          MEMCACHE_SERVERS: cache,
          DATABASE_URL: database,
        })
        t.after(async () => {
          collector.kill()
          await web.close()
          removeFolder(folder)
        })
        for (let visit = 0; visit < VISITS; visit++) web.record({ page: `/${visit}` })
        await web.flush()
        await collector.says(/collecting "activity"/)
        await eventually('all visits in SQL', async () => (await web.ledger()).committed === VISITS)
        process.kill(around ? firstProcess(collector.pid) : collector.pid, signal)
        assert.equal(await collector.ended(), 0, collector.output())
        const { issued, committed, outstanding, lost } = await web.ledger()
        assert.deepEqual(
          { issued, committed, outstanding, lost },
          { issued: VISITS, committed: VISITS, outstanding: 0, lost: 0 },
        )
      },
    )
  }
})
