/** A line of code has at most 100 columns. The formatter leaves texts and patterns as they are. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const COLUMNS = 100

/** Lines of `text` that are too long, by their numbers. */
function longLines(file: string, text: string): string[] {
  return text
    .split('\n')
    .flatMap((line, at) => (line.length > COLUMNS ? [`${file}:${at + 1}: ${line.length}`] : []))
}

const files = execFileSync(
  'git',
  ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts', '*.js'],
  { cwd: ROOT, encoding: 'utf8' },
)
  .split('\n')
  .filter((file) => file !== '' && existsSync(join(ROOT, file)))

test(`no line of a source has more than ${COLUMNS} columns`, () => {
  assert(files.length > 300 && files.includes('src/index.ts') && files.includes('test/run.ts'))
  assert.deepEqual(
    files.flatMap((file) => longLines(file, readFileSync(join(ROOT, file), 'utf8'))),
    [],
  )
})

test('a line that is too long would be seen', () => {
  const lines = ['x'.repeat(COLUMNS), 'x'.repeat(COLUMNS + 1), '’'.repeat(COLUMNS)]
  assert.deepEqual(longLines('a.ts', lines.join('\n')), ['a.ts:2: 101'])
})
