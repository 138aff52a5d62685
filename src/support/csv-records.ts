/** Reads comma-separated values by RFC 4180: from bytes in UTF-8 to records, with their lines. */
import { isUtf8 } from 'node:buffer'

/** Bytes of a cell. A quote that is not closed within so many swallows no more. */
const MAX_CELL_BYTES = 4_096

const [LF, CR, QUOTE, COMMA] = [0x0a, 0x0d, 0x22, 0x2c]

/** A record that is not empty. */
export interface CsvRecord {
  /** The line on which it begins, from 1 on. */
  readonly line: number
  /** Its cells, or the reason why it has none. */
  readonly content: readonly string[] | string
}

/** @throws Error for a quote that is not closed: what follows it may be swallowed */
export async function* csvRecords(chunks: AsyncIterable<Buffer>): AsyncGenerator<CsvRecord> {
  const reader = new RecordReader()
  for await (const chunk of chunks) {
    for (const byte of chunk) {
      const record = reader.take(byte)
      if (record) yield record
    }
  }
  const last = reader.end()
  if (last) yield last
}

class RecordReader {
  /** `quote`: after a quote in quotes, which ends them or is the first of two. */
  #at: 'begin' | 'plain' | 'quoted' | 'quote' = 'begin'
  #line = 1
  #begunOn = 1
  readonly #cell = Buffer.allocUnsafe(MAX_CELL_BYTES)
  #length = 0
  #cells: string[] = []
  #problem: string | undefined

  /** Returns the record that ends with this byte. */
  take(byte: number): CsvRecord | undefined {
    if (byte === LF) this.#line++
    if (this.#at === 'quoted') {
      if (byte === QUOTE) this.#at = 'quote'
      else this.#add(byte)
    } else if (byte === QUOTE && this.#at === 'quote') {
      this.#at = 'quoted'
      this.#add(byte)
    } else if (byte === QUOTE && this.#at === 'begin') this.#at = 'quoted'
    else if (byte === COMMA) this.#endCell()
    else if (byte === LF) return this.#endRecord()
    else if (byte !== CR || this.#at !== 'quote') this.#addPlain(byte)
    return undefined
  }

  end(): CsvRecord | undefined {
    if (this.#at === 'quoted') throw this.#unclosed()
    return this.#endRecord()
  }

  #addPlain(byte: number): void {
    if (this.#at === 'quote') this.#problem ??= 'text follows a closing quote'
    else if (byte === QUOTE) this.#problem ??= 'a quote is in a cell without quotes'
    else {
      this.#at = 'plain'
      this.#add(byte)
    }
  }

  #add(byte: number): void {
    if (this.#length < MAX_CELL_BYTES) this.#cell[this.#length++] = byte
    else if (this.#at === 'quoted') throw this.#unclosed()
    else this.#problem ??= `a cell is over ${MAX_CELL_BYTES} bytes`
  }

  #endCell(): void {
    const bytes = this.#cell.subarray(0, this.#length)
    if (!isUtf8(bytes)) this.#problem ??= 'it is not in UTF-8'
    this.#cells.push(bytes.toString())
    this.#length = 0
    this.#at = 'begin'
  }

  #endRecord(): CsvRecord | undefined {
    if (this.#at === 'plain' && this.#cell[this.#length - 1] === CR) this.#length--
    const isEmpty = this.#at !== 'quote' && this.#length === 0 && this.#cells.length === 0
    this.#endCell()
    const record = { line: this.#begunOn, content: this.#problem ?? this.#cells }
    this.#begunOn = this.#line
    this.#cells = []
    this.#problem = undefined
    return isEmpty ? undefined : record
  }

  #unclosed(): Error {
    return new Error(`line ${this.#begunOn}: a quote is not closed within ${MAX_CELL_BYTES} bytes`)
  }
}
