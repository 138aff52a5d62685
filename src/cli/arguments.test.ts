import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { PassThrough } from 'node:stream'
import { keptLog } from '../support/kept-log.fixture.js'
import { commandOf, FLAGS, logFormatOf, type OptionsOf, UsageError } from './arguments.js'
import { collect } from './collect.js'
import { exportSums } from './export.js'
import { note } from './note.js'
import { removeOneValue } from './remove-value.js'
import { USAGE } from './usage.js'

const NOTHING: OptionsOf<'collect'> = {
  database: undefined,
  cache: undefined,
  name: undefined,
  width: undefined,
  layerSeconds: undefined,
  drainAfterLayers: undefined,
  cellTtlSeconds: undefined,
  retentionHours: undefined,
  collect: undefined,
  listen: undefined,
  module: undefined,
}

test('help and version win over everything else that is asked for', () => {
  assert.deepEqual(commandOf(['--help']), { command: 'help' })
  assert.deepEqual(commandOf(['-h']), { command: 'help' })
  assert.deepEqual(commandOf(['migrate', 'now', '--help', '--version']), { command: 'help' })
  assert.deepEqual(commandOf(['collect', '--version']), { command: 'version' })
})

/** The flags that a text names. */
function flagsIn(text: string): Set<string> {
  return new Set([...text.matchAll(/--[a-z][a-z-]*/g)].map(([flag]) => flag))
}

const DOCS = readFileSync(new URL('../../docs/commands.md', import.meta.url), 'utf8')

/** Returns the section of the docs on a command; empty if its line in the table says all. */
function sectionOf(command: string): string {
  return new RegExp(`^## ${command}\\n([^]*?)(?=^## |$(?![^]))`, 'm').exec(DOCS)?.[1] ?? ''
}

/** The lines of a section's table of flags: the flags, and what is said of them. */
function flagRowsIn(section: string): [flags: Set<string>, text: string][] {
  return (section.match(/^\| `--.*$/gm) ?? []).map((row) => {
    const [flags = '', text = ''] = row.split(' | ')
    return [flagsIn(flags), text]
  })
}

test('the help and the docs name every command and every flag, and no others', () => {
  const shared = ['--database', '--log', '--help', '--version']
  const own = Object.values(FLAGS).flatMap((flags) => Object.keys(flags))
  const helped = flagsIn(USAGE)
  for (const flag of new Set([...own.map((flag) => `--${flag}`), ...shared])) {
    assert(helped.delete(flag), `the help names ${flag}`)
  }
  assert.deepEqual([...helped], [])
  const ofAll = flagRowsIn(sectionOf('Flags of all commands'))
  for (const flag of shared) {
    assert(
      ofAll.some(([flags]) => flags.has(flag)),
      `the docs name ${flag}`,
    )
  }
  for (const [command, flags] of Object.entries(FLAGS)) {
    assert.match(USAGE, new RegExp(`^ {2}${command} `, 'm'))
    const section = sectionOf(command)
    const named = section === '' ? `\`${command}\`` : `[\`${command}\`](#${command})`
    assert(DOCS.includes(`\n| ${named} | `), command)
    const rows = [
      ...flagRowsIn(section),
      ...ofAll.filter(([, text]) => text.includes(`\`${command}\``)),
    ]
    assert.deepEqual(
      rows.flatMap(([names]) => [...names]).sort(),
      Object.keys(flags)
        .map((flag) => `--${flag}`)
        .sort(),
      command,
    )
  }
})

test('migrate takes a database, or leaves it to the environment', () => {
  assert.deepEqual(commandOf(['migrate']), {
    command: 'migrate',
    options: { database: undefined },
  })
  assert.deepEqual(commandOf(['--database', 'sqlite:./a.db', 'migrate']), {
    command: 'migrate',
    options: { database: 'sqlite:./a.db' },
  })
})

test('a flag of collect that is not given is an option not given', () => {
  assert.deepEqual(commandOf(['collect']), { command: 'collect', options: NOTHING })
})

test('each flag of collect becomes its option, numbers as numbers', () => {
  const flags = {
    database: 'mysql://u@h/d',
    name: 'threads',
    width: '4',
    'layer-seconds': '2',
    'drain-after-layers': '2',
    'cell-ttl-seconds': '900',
    'retention-hours': '48',
    collect: '* * * * * *',
    cache: 'h:11211',
    listen: '127.0.0.1:9464',
  }
  const args = Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value])
  assert.deepEqual(commandOf(['collect', ...args]), {
    command: 'collect',
    options: {
      ...NOTHING,
      cache: 'h:11211',
      listen: '127.0.0.1:9464',
      database: 'mysql://u@h/d',
      name: 'threads',
      width: 4,
      layerSeconds: 2,
      drainAfterLayers: 2,
      cellTtlSeconds: 900,
      retentionHours: 48,
      collect: '* * * * * *',
    },
  })
})

test('certificate takes a day, or none', () => {
  const options = { database: undefined, name: undefined, json: false, day: undefined }
  assert.deepEqual(commandOf(['certificate']), { command: 'certificate', options })
  assert.deepEqual(commandOf(['certificate', '2026-05-17', '--json', '--name', 'shop']), {
    command: 'certificate',
    options: { ...options, name: 'shop', json: true, day: '2026-05-17' },
  })
})

test('collect takes a module, and with it when to collect', () => {
  assert.deepEqual(commandOf(['collect', '--module', './clicks.js', '--log', 'json']), {
    command: 'collect',
    options: { ...NOTHING, module: './clicks.js' },
  })
  assert.deepEqual(commandOf(['collect', '--module', 'a', '--collect', '* * * * * *']), {
    command: 'collect',
    options: { ...NOTHING, module: 'a', collect: '* * * * * *' },
  })
  assert.deepEqual(commandOf(['collect', '--module', 'a', '--listen', '9464']), {
    command: 'collect',
    options: { ...NOTHING, module: 'a', listen: '9464' },
  })
})

test('status is shown once as text, unless it is asked for otherwise', () => {
  const options = { database: undefined, name: undefined, json: false, watch: false, all: false }
  assert.deepEqual(commandOf(['status']), { command: 'status', options })
  assert.deepEqual(commandOf(['status', '--watch', '--json', '--name', 'a']), {
    command: 'status',
    options: { ...options, name: 'a', json: true, watch: true },
  })
})

test('quarantine takes what is to be done and with which frames', () => {
  const action = (...args: string[]): unknown => {
    const asked = commandOf(['quarantine', ...args])
    assert(asked.command === 'quarantine')
    return asked.options.action
  }
  assert.deepEqual(action('list'), { verb: 'list' })
  assert.deepEqual(action('show', '7'), { verb: 'show', id: 7 })
  assert.deepEqual(action('retry', '7', '9', '7'), { verb: 'retry', ids: [7, 9] })
  assert.deepEqual(action('drop', 'all'), { verb: 'drop', ids: 'all' })
  const ids = Array.from({ length: 1_001 }, (_, at) => String(at + 1))
  assert.deepEqual(action('drop', ...ids.slice(1)), { verb: 'drop', ids: ids.slice(1).map(Number) })
  assert.throws(() => action('drop', ...ids), /quarantine takes 1000 ids at most/)
  assert.deepEqual(commandOf(['quarantine', 'list', '--name', 'a', '--json']), {
    command: 'quarantine',
    options: { database: undefined, name: 'a', json: true, action: { verb: 'list' } },
  })
})

test('parked takes updates of maps and entries of queues', () => {
  const asked = commandOf(['parked', 'retry', 'update-12', 'entry-7'])
  assert(asked.command === 'parked')
  assert.deepEqual(asked.options.action, { verb: 'retry', ids: ['update-12', 'entry-7'] })
})

test('the format of the log is known whatever else is wrong', () => {
  assert.equal(logFormatOf([]), 'text')
  assert.equal(logFormatOf(['--log', 'json', '--nonsense', 'x']), 'json')
  assert.equal(logFormatOf(['--nonsense=1', '--log=json']), 'json')
  assert.equal(logFormatOf(['--log', 'xml']), 'text')
  assert.equal(logFormatOf(['--log']), 'text')
})

test('a command that is misspelt is repeated, with the one that may be meant', () => {
  for (const [text, meant] of [
    ['colect', 'collect'],
    ['migration', 'migrate'],
    ['stats', 'status'],
  ] as const) {
    assert.throws(() => commandOf([text]), {
      message: `no such command: ${text}. Did you mean ${meant}?`,
    })
  }
})

describe('a command line that asks for nothing that exists is refused, and not repeated:', () => {
  const cases: [name: string, args: readonly string[], message: RegExp][] = [
    ['a flag of another command', ['export', '--width', '3'], /--width is no flag of export/],
    ['no command', [], /^a command is missing: collect, migrate, status, doctor, quarantine, /],
    ['an unknown command', ['s3cret'], /^no such command; there are collect, /],
    ['what only begins as a command', ['doc:s3cret'], /^no such command; there are collect, /],
    ['an unknown flag', ['migrate', '--databse=s3cret'], /^Unknown option '--databse'$/],
    [
      'a URL without a blank',
      ['status', '--databasemysql://a:s3cret@b'],
      /^Unknown option '--data/,
    ],
    ['a flag without its value', ['collect', '--cache'], /--cache/],
    ['a day that is none', ['certificate', 's3cret'], /^certificate wants one day such as 2026/],
    ['two days', ['certificate', '2026-05-17', '2026-05-18'], /^certificate wants one day/],
    ['a note on no day', ['note'], /^note wants a day and a text, such as note 2026-05-17/],
    ['two notes', ['note', '2026-05-17', 's3cret', 's3cret'], /^note wants a day and a text/],
    ['a word behind the command', ['migrate', 's3cret'], /^migrate takes flags only/],
    ['a flag of the other command', ['migrate', '--width', '3'], /^--width is no flag of migrate$/],
    ['another format', ['migrate', '--log', 's3cret'], /^--log wants text or json$/],
    ['nothing to do with quarantine', ['quarantine'], /^quarantine wants list, show <id>, /],
    ['an id that is none', ['quarantine', 'drop', '7', 's3cret'], /^quarantine wants ids, /],
    ['no id', ['quarantine', 'retry'], /^quarantine wants list, /],
    ['two ids to show', ['quarantine', 'show', '1', '2'], /^quarantine wants list, /],
    ['all and more', ['quarantine', 'drop', 'all', '7'], /^quarantine wants ids, /],
    ['an id of 0', ['quarantine', 'show', '0'], /^quarantine wants ids, /],
    [
      'another flag beside --module',
      ['collect', '--module', 'a.js', '--database', 's3cret'],
      /^--database does not go with --module: the exports of the file/,
    ],
    ['a fraction', ['collect', '--width', '1.5'], /^--width wants a whole number$/],
    ['a negative number', ['collect', '--width=-1'], /^--width wants a whole number$/],
    ['an empty number', ['collect', '--layer-seconds', ''], /^--layer-seconds wants a whole/],
    ['a number of 16 digits', ['collect', '--width', '1'.repeat(16)], /wants a whole number$/],
  ]
  for (const [name, args, message] of cases) {
    test(name, () => {
      assert.throws(
        () => commandOf(args),
        (error) => {
          assert(error instanceof UsageError)
          assert.match(error.message, message)
          assert.doesNotMatch(error.message, /s3cret|\n/)
          return true
        },
      )
    })
  }
})

/** A wrong option ends the command with status 2, and without the value. */
async function assertRefused(running: Promise<void>, message: RegExp): Promise<void> {
  await assert.rejects(running, (error) => {
    assert(error instanceof Error)
    const code = 'code' in error ? error.code : undefined
    assert(error instanceof UsageError || code === 'ERR_WIDE_CACHE_OPTION', String(error))
    assert.match(error.message, message)
    assert.doesNotMatch(error.message, /s3cret/)
    return true
  })
}

describe('collect refuses wrong options before it opens anything:', () => {
  const cases: [name: string, args: readonly string[], message: RegExp][] = [
    ['a number out of range', ['--width', '0'], /"width" is 0; allowed: a whole number from 1/],
    ['a name with a space', ['--name', 'a b'], /"name"/],
    ['a schedule that is no cron line', ['--collect', 'often'], /"collect" is "often"/],
    ['servers of another scheme', ['--cache', 'http://u:s3cret@h'], /"cache"/],
    ['a private cache', ['--cache', 'memory:'], /nothing to collect here/],
    ['another database', ['--database', 'mongodb://u:s3cret@h/d'], /"database" is "mongodb:…"/],
    ['no place to listen', ['--listen', 's3cret'], /^--listen wants host:port/],
  ]
  for (const [name, args, message] of cases) {
    test(name, async () => {
      const log = keptLog()
      const asked = commandOf(['collect', '--cache', 'memcached://127.0.0.1:1', ...args])
      assert(asked.command === 'collect')
      await assertRefused(collect(asked.options, log, AbortSignal.abort()), message)
      assert.deepEqual(log.lines, [])
    })
  }
})

describe('export, note and remove-value refuse wrong options before they open anything:', () => {
  const DAY = ['export', '--from', '2026-05-17', '--to', '2026-05-18']
  const cases: [name: string, args: readonly string[], message: RegExp][] = [
    ['an export from nowhere', ['export', '--to', '2026-05-17'], /--from is missing/],
    ['an export to nowhere', ['export', '--from', '2026-05-17'], /--to is missing/],
    [
      'an export of no time',
      [...DAY, '--from', 'long ago'],
      /"from" is "long ago"; allowed: a Date/,
    ],
    ['a format that is none', [...DAY, '--format', 'xml'], /"format" is "xml"; allowed: "csv" or/],
    ['a period that is none', [...DAY, '--by', 'week'], /"by" is "week"; allowed: "hour" or "day"/],
    ['a number of nothing', [...DAY, '--n', '5'], /--n goes with --top/],
    ['values by the day', [...DAY, '--top', 'page', '--by', 'day'], /--by does not go with --top/],
    ['no note', ['note', '2026-05-17'], /^note wants a text, or --remove/],
    ['a note to remove', ['note', '2026-05-17', 's3cret', '--remove'], /^note wants a text, or/],
    ['a note on a day that is none', ['note', '2026-02-30', '--remove'], /"day" is "2026-02-30"/],
    ['a value of nothing', ['remove-value', '--value', 's3cret'], /--dimension is missing/],
    ['no value', ['remove-value', '--dimension', 'page'], /--value is missing/],
  ]
  for (const [name, args, message] of cases) {
    test(name, async () => {
      const asked = commandOf(args)
      const running =
        asked.command === 'export'
          ? exportSums(asked.options, keptLog(), new PassThrough())
          : asked.command === 'note'
            ? note(asked.options, keptLog())
            : asked.command === 'remove-value'
              ? removeOneValue(asked.options, keptLog())
              : assert.fail(asked.command)
      await assertRefused(running, message)
    })
  }
})
