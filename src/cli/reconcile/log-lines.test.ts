import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { removeFolder, temporaryFolder } from '../../../test/servers/process.js'
import { eachLine } from './log-lines.js'

const folder = temporaryFolder('log-lines')
after(() => removeFolder(folder))

const MAX_LINE = 65_536
/** Bytes that are read at a time. */
const PIECE = 1_048_576

let files = 0

function fileOf(content: string | Buffer): string {
  const path = join(folder, `${files++}.log`)
  writeFileSync(path, content)
  return path
}

async function linesIn(...paths: readonly string[]): Promise<(string | undefined)[]> {
  const lines: (string | undefined)[] = []
  await eachLine(paths, (line) => lines.push(line))
  return lines
}

test('files are read one after the other and unpacked, without empty lines', async () => {
  const paths = [
    fileOf('a\nb\n\n\nc'),
    fileOf(''),
    fileOf('\n'),
    fileOf(gzipSync('d\ne')),
    // Logs are rotated into one file of several that are packed.
    fileOf(Buffer.concat([gzipSync('f\n'), gzipSync('g')])),
    fileOf(Buffer.from([0x1f])),
    fileOf(Buffer.from('\u00e4\n', 'latin1')),
  ]
  assert.deepEqual(await linesIn(...paths), [...'abcdefg', '\x1f', '\u00e4'])
})

test('a line is the same wherever a piece of the file ends', async () => {
  const line = `${'x'.repeat(99)}\n`
  for (const shift of [0, 1, 50, 98, 99, 100]) {
    const lines = ['y'.repeat(shift), ...Array<string>(Math.ceil(PIECE / 50)).fill(line.trim())]
    const found = await linesIn(fileOf(lines.join('\n')))
    assert.deepEqual(found, lines.filter(Boolean), `shifted by ${shift}`)
  }
})

test('a line that is too long is told as one, and those around it are read', async () => {
  const [longest, tooLong] = ['x'.repeat(MAX_LINE), 'x'.repeat(MAX_LINE + 1)]
  for (const long of [tooLong, 'x'.repeat(PIECE - 4), 'x'.repeat(3 * PIECE)]) {
    const path = fileOf(['a', long, 'b', longest, 'c', long, ''].join('\n'))
    assert.deepEqual(await linesIn(path), ['a', undefined, 'b', longest, 'c', undefined])
    assert.deepEqual(await linesIn(fileOf(long), fileOf('d')), [undefined, 'd'])
  }
})
