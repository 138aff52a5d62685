import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../test/fast-check.js'
import { csvRow } from './csv.js'
import { type CsvRecord, csvRecords } from './csv-records.js'

/** The records of a text that comes in pieces of so many bytes. */
async function recordsOf(text: string | Buffer, piece = 3): Promise<CsvRecord[]> {
  const bytes = Buffer.from(text)
  async function* pieces(): AsyncGenerator<Buffer> {
    for (let at = 0; at < bytes.length; at += piece) yield bytes.subarray(at, at + piece)
  }
  const records: CsvRecord[] = []
  for await (const record of csvRecords(pieces())) records.push(record)
  return records
}

const contents = async (text: string | Buffer) =>
  (await recordsOf(text)).map(({ content }) => content)

test('what is written as CSV is read again, wherever the pieces end, with its lines', async () => {
  const unit = fc.constantFrom('a', '"', ',', '\n', '\r', ' ', 'é', '😀')
  // A cell that begins like this gets an apostrophe.
  const cell = fc.string({ unit }).filter((text) => !/^[\r\n]/.test(text))
  const row = fc.array(cell, { minLength: 2, maxLength: 4 })
  const rows = fc.array(row, { maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(rows, fc.integer({ min: 1, max: 9 }), async (given, piece) => {
      const texts = given.map((cells) => csvRow(cells))
      const records = await recordsOf(texts.join(''), piece)
      let line = 1
      const wanted = given.map((content, at) => {
        const record = { line, content }
        line += texts[at]!.split('\n').length - 1
        return record
      })
      assert.deepEqual(records, wanted)
    }),
  )
})

test('of a wrong record the first problem is told, and the next one is read', async () => {
  const long = 'x'.repeat(4_096)
  for (const [text, problem] of [
    ['a"b', 'a quote is in a cell without quotes'],
    ['"a"b', 'text follows a closing quote'],
    ['a"b,"c"d', 'a quote is in a cell without quotes'],
    ['"c"d,a"b', 'text follows a closing quote'],
    [`${long}y`, 'a cell is over 4096 bytes'],
    [`${long}yy,"c"d`, 'a cell is over 4096 bytes'],
    [`"c"d,${long}y`, 'text follows a closing quote'],
    [Buffer.from('"c"d,\xff', 'latin1'), 'text follows a closing quote'],
    [Buffer.from('\xff,a"b', 'latin1'), 'it is not in UTF-8'],
  ] as const) {
    const bytes = Buffer.concat([Buffer.from(text), Buffer.from('\n1,2\n')])
    assert.deepEqual(await contents(bytes), [problem, ['1', '2']], problem)
  }
  assert.deepEqual(await contents(`${long},"${long}"`), [[long, long]])
  await assert.rejects(recordsOf(`a\n"${long}y"`), /line 2: a quote is not closed within 4096/)
  await assert.rejects(recordsOf('a\nb,"c'), /line 2: a quote is not closed within 4096 bytes/)
})

test('empty lines are no records, and a quoted nothing is one', async () => {
  assert.deepEqual(await recordsOf('\n\r\na\r\n\n""\n,\nlast'), [
    { line: 3, content: ['a'] },
    { line: 5, content: [''] },
    { line: 6, content: ['', ''] },
    { line: 7, content: ['last'] },
  ])
  assert.deepEqual(await recordsOf(''), [])
})
