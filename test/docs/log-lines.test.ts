/**
 * docs/log.md has a row for each warning and error that the package logs, and none for what it does
 * not log.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { isSource } from '../sources.js'
import { ELSEWHERE, type Level, logCallsIn, reasonsIn } from './log-lines.js'
import { pageOf } from './markdown.js'

const SRC = fileURLToPath(new URL('../../src', import.meta.url))
const HEADINGS: readonly (readonly [heading: string, level: Level])[] = [
  ['## Errors\n', 'error'],
  ['## Warnings\n', 'warn'],
]
const REASONS_HEADING = '## Reasons of direct commits\n'
/** A row or a line with fewer letters would match too much. */
const LEAST_LETTERS = 6

/** Files, once for each call there that logs what others give, and no text of its own. */
const PASSED_ON = [
  'cli/main.ts',
  'connections/warn-failure.ts',
  'connections/warn-failure.ts',
  'database/mysql/mysql.ts',
  'database/open.ts',
  'database/postgres/postgres.ts',
  'support/warn-once.ts',
  'visitors/guard.ts',
]

interface Row {
  /** Texts that begin a line, with `…` for what varies. */
  readonly lines: readonly string[]
  readonly level: Level | undefined
}

/** The rows of all tables behind a heading, up to the next one. */
function rowsBehind(heading: string, level?: Level): Row[] {
  const page = pageOf('docs/log.md').text
  const [section = ''] = page.slice(page.indexOf(heading) + heading.length).split(/^##/m)
  return section
    .split('\n')
    .filter((line, at, all) => line.startsWith('| ') && !`${line}${all[at + 1]}`.includes('---'))
    .map((line) => ({ lines: line.slice(2).split(' | ')[0]!.split('<br>'), level }))
}

function begins(line: string, beginning: string): boolean {
  const parts = beginning.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}`).test(line)
}

function rowOf(rows: readonly Row[], line: string, level: Level): Row | undefined {
  return rows.find(
    (row) => row.level === level && row.lines.some((beginning) => begins(line, beginning)),
  )
}

function letters(text: string): number {
  return text.replace(/\P{L}/gu, '').length
}

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter(
  (file) => isSource(file) && file.endsWith('.ts'),
)
const sources = files.map((file) => readFileSync(join(SRC, file), 'utf8'))
const calls = files.flatMap((file, at) =>
  logCallsIn(sources[at]!).map((call) => ({ file, ...call })),
)
const lines = calls.flatMap(({ file, level, lines: texts }) =>
  texts.filter((text) => letters(text) > 0).map((text) => ({ file, level, text })),
)
const rows = HEADINGS.flatMap(([heading, level]) => rowsBehind(heading, level))

test('every warning and every error has a row of its level', () => {
  const toAct = lines.filter(({ level }) => level !== 'info')
  assert(toAct.length > 70, String(toAct.length))
  assert.deepEqual(
    toAct.filter(({ text, level }) => !rowOf(rows, text, level)),
    [],
  )
})

test('every row is of a line, and says more than …', () => {
  const beginnings = rows.flatMap((row) => row.lines)
  assert.deepEqual(
    beginnings.filter((beginning) => !lines.some(({ text }) => begins(text, beginning))),
    [],
  )
  assert.deepEqual(
    beginnings.filter((beginning) => letters(beginning) < LEAST_LETTERS),
    [],
  )
})

test('the text of every line is known, but of those that are only passed on', () => {
  const unknown = calls.filter((call) => !call.lines.some((line) => letters(line) > 0))
  assert.deepEqual(unknown.map(({ file }) => file).sort(), PASSED_ON)
})

test('every reason of direct commits has a row, and every row is of a reason', () => {
  const given = ['writer/placer.ts', 'writer/upkeep.ts']
    .flatMap((file) => reasonsIn(readFileSync(join(SRC, 'wide-cache', file), 'utf8')))
    .filter((reason) => letters(reason) > 0)
  const known = rowsBehind(REASONS_HEADING).flatMap((row) => row.lines)
  assert(known.length >= 7)
  assert.deepEqual(
    given.filter((reason) => !known.some((one) => begins(reason, one))),
    [],
  )
  assert.deepEqual(
    known.filter((one) => !given.some((reason) => begins(reason, one))),
    [],
  )
})

test('what stands for a text that is made elsewhere is in the sources', () => {
  const all = sources.join('\n')
  for (const part of Object.values(ELSEWHERE).flatMap((texts) => texts.join('…').split('…'))) {
    assert(all.includes(part), part)
  }
})

test('a line that has no row would be seen, however it is logged', () => {
  for (const said of [
    "this.parts.logger.warn('trouble', `wide-cache: something ${fresh} ` + (a ? 'one' : 'two'))",
    "const text = 'wide-cache: something …'; log.error(text)",
    "warnOfFailure(logger, 'trouble', error, 'wide-cache: something …', now)",
    "parts.anything.recovered('trouble', 'wide-cache: something …')",
    "console.error('wide-cache: something …')",
    "guard.say('trouble', 'something …', 'nothing')",
  ]) {
    const [call, ...others] = logCallsIn(said)
    assert(call && others.length === 0 && call.lines.length > 0, said)
    for (const line of call.lines) {
      assert.match(line, /^something …/)
      assert.equal(rowOf(rows, line, call.level), undefined)
      assert(rowOf([{ lines: ['something …'], level: call.level }], line, call.level))
    }
  }
})
