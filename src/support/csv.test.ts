import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../test/fast-check.js'
import { csvRow } from './csv.js'

/** Reads a line by RFC 4180. */
function cellsOf(line: string): string[] {
  const cells: string[] = []
  let rest = line.slice(0, -2)
  for (;;) {
    const quoted = /^"((?:[^"]|"")*)"/.exec(rest)
    const plain = /^[^,]*/.exec(rest)?.[0] ?? ''
    cells.push(quoted ? quoted[1]!.replaceAll('""', '"') : plain)
    rest = rest.slice((quoted?.[0] ?? plain).length)
    if (rest === '') return cells
    assert.equal(rest[0], ',')
    rest = rest.slice(1)
  }
}

test('cells that a spreadsheet would run as a formula become texts', () => {
  for (const text of [
    '=1+1',
    '+1',
    '-1',
    '@SUM(A1)',
    '\t=1',
    '\r=1',
    '\n=1',
    ' =1',
    '\uff1d1',
    '=cmd|"/c calc"!A0',
  ]) {
    const [cell] = cellsOf(csvRow([text]))
    assert.equal(cell, `'${text}`)
  }
  for (const text of ['/', 'a=1', '', '/-', 'news.example']) {
    assert.equal(csvRow([text]), `${text}\r\n`)
  }
  assert.equal(csvRow([-1, null, '']), '-1,,\r\n')
})

test('whatever is in the cells, a reader of CSV finds them again, and no formula', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.string({
          unit: fc.constantFrom('=', '-', '"', ',', ';', '\n', '\r', '\t', ' ', 'a', '\u00e9'),
        }),
        { minLength: 1, maxLength: 5 },
      ),
      (texts) => {
        const cells = cellsOf(csvRow(texts))
        assert.deepEqual(
          cells.map((cell, at) => (cell === `'${texts[at]}` ? texts[at] : cell)),
          texts,
        )
        for (const cell of cells) assert.doesNotMatch(cell, /^[=+\-@\t\r\n]/)
      },
    ),
  )
})
