import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { csvRow } from './csv.js'

/** The rows of a text, read as RFC 4180 says. */
function parsed(text: string): string[][] {
  const rows: string[][] = []
  let row: string[] = []
  for (const [, quoted, plain, end] of text.matchAll(
    /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g,
  )) {
    row.push(quoted?.replaceAll('""', '"') ?? plain ?? '')
    if (end === ',') continue
    rows.push(row)
    row = []
  }
  return rows
}

test('cells are quoted where they must be, and null is an empty cell', () => {
  assert.equal(csvRow(['a', 'b c', '']), 'a,b c,\r\n')
  assert.equal(csvRow(['a,b', 'say "x"', 'two\nlines']), '"a,b","say ""x""","two\nlines"\r\n')
  assert.equal(csvRow([null, 0, -1, 1.5]), ',0,-1,1.5\r\n')
})

test('a text that a spreadsheet would take for a formula begins with an apostrophe', () => {
  for (const first of ['=', '+', '-', '@', '\t', '\r']) {
    assert.equal(parsed(csvRow([`${first}1+1`, 'x']))[0]![0], `'${first}1+1`)
  }
  assert.equal(csvRow(['=HYPERLINK("http://x","y")']), '"\'=HYPERLINK(""http://x"",""y"")"\r\n')
  assert.equal(csvRow(['a=1', '/=1', '1-1']), 'a=1,/=1,1-1\r\n')
})

test('whatever the texts, a reader finds them again, a formula behind its apostrophe', () => {
  const text = fc.string({ unit: fc.constantFrom('a', ',', '"', '\r', '\n', '=', '\t', ' ', 'é') })
  fc.assert(
    fc.property(fc.array(fc.tuple(text, text, text), { maxLength: 5 }), (rows) => {
      const found = parsed(rows.map((row) => csvRow(row)).join(''))
      const defused = (cell: string): string => (/^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell)
      assert.deepEqual(
        found,
        rows.map((row) => row.map(defused)),
      )
    }),
  )
})
