/** `wide-cache import`: what was counted before, of hits from a file, and of days. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { isItem, MAX_ITEM_BYTES } from '../hits/hit.js'
import { beginImport, type ImportedHits, type ImportedList, importPart } from '../hits/import.js'
import { GRID_NAME_START, hitsName } from '../hits/options.js'
import { unlocked } from '../connections/unlocked.js'
import type { Database } from '../database/database.js'
import { measureName } from '../page-views/measures.js'
import { type CsvRecord, csvRecords } from '../support/csv-records.js'
import { systemEnvironment } from '../support/environment.js'
import { identifier, oneOf } from '../support/options.js'
import { counted } from '../support/printable.js'
import { recordedAmong } from '../wide-cache/ledger/name-settings.js'
import { type OptionsOf, UsageError } from './arguments.js'
import { withTables } from './existing.js'
import { DAY_HEADERS, importDays, removeDays, type ImportOptions } from './import-days.js'
import type { CommandLog } from './log.js'

const HEADER = 'item,hits'

/** Records of one transaction. */
const RECORDS_A_PART = 1_000

/** Wrong lines that the log names one by one. */
const MAX_REPORTED = 20

/** A record of the file, or what is wrong with it. */
type Read = ImportedHits | { readonly line: number; readonly problem: string }

/** Returns the exit status. @throws Error, UsageError, DatabaseError */
export async function importFile(options: OptionsOf<'import'>, log: CommandLog): Promise<number> {
  const { file, remove, skipInvalid } = options
  if (options.name === undefined) throw new UsageError('--name is missing: of hits, or an activity')
  if (!remove && options.id === undefined) {
    throw new UsageError('--id is missing: a name for this import')
  }
  if (remove && (options.id ?? skipInvalid)) throw new UsageError('import wants --remove <id>')
  const id = identifier('id', remove ? file : options.id)
  const measure = oneOf('measure', options.measure ?? 'served', ['served', 'seen'])
  const days = { database: options.database, name: options.name, measure, id }
  if (remove) return removeDays(days, log)
  const records = csvRecords(file === '-' ? process.stdin : chunksOf(file))
  const header = headerIn((await records.next()).value)
  if (DAY_HEADERS.includes(header)) {
    if (skipInvalid) throw new UsageError('--skip-invalid does not go with days')
    return importDays(days, header, records, log)
  }
  await records.return(undefined)
  if (file === '-') {
    throw new Error(`line 1: the header of stdin is not ${DAY_HEADERS.join(' or ')}`)
  }
  return importHits(options, days, log)
}

async function importHits(
  { file, skipInvalid }: OptionsOf<'import'>,
  { database: url, name: given, measure, id }: ImportOptions,
  log: CommandLog,
): Promise<number> {
  const own = hitsName(given)
  const name = measureName(own, measure)
  // All of the file, before anything is changed.
  const { digest, records, wrong } = await checked(file, log)
  if (wrong > 0 && !skipInvalid) {
    log.warn(
      `wide-cache: nothing is imported, because ${counted(wrong, 'line')} of the file cannot be; ` +
        'correct them, or leave them out with --skip-invalid',
      { wrong },
    )
    return 1
  }
  await withTables(url, log, ['wide-cache', 'hits'], async (database) => {
    await warnOfNewName(database, measureName(GRID_NAME_START + own, measure), log)
    const list = { name, id, digest }
    const { done, isWhole } = await unlocked(systemEnvironment, () => beginImport(database, list))
    const amounts = { items: records - wrong, wrong }
    if (isWhole) {
      log.info(`wide-cache: the import "${id}" into "${name}" is done, and was before`, amounts)
      return
    }
    if (done > 0) log.info(`wide-cache: the import "${id}" goes on after ${done} lines`)
    const hits = await addAll(database, list, file, { done, records })
    log.info(
      `wide-cache: the import "${id}" into "${name}" is done; this run has added ` +
        counted(hits, 'hit') +
        (wrong > 0 ? `, and ${counted(wrong, 'line')} of the file are left out` : ''),
      { ...amounts, hits },
    )
  })
  return 0
}

/** A name that no process has used may be a mistake, or that of a site that is yet to start. */
async function warnOfNewName(database: Database, fullName: string, log: CommandLog) {
  const known = await recordedAmong(database, [fullName])
  if (known.length > 0) return
  log.warn(`wide-cache: no process has recorded hits as "${fullName}" yet; look at --name`)
}

/** Reads the whole file, and tells of its first wrong lines. @throws Error for a wrong header */
async function checked(file: string, log: CommandLog) {
  const hash = createHash('sha256')
  let [records, wrong] = [0, 0]
  for await (const read of recordsOf(file, (bytes) => hash.update(bytes))) {
    records++
    if ('item' in read) continue
    if (++wrong <= MAX_REPORTED) log.warn(`wide-cache: wrong line ${read.line}: ${read.problem}`)
  }
  return { digest: hash.digest(), records, wrong }
}

/** Adds what is not done yet. Returns the hits that it has added. */
async function addAll(
  database: Database,
  list: ImportedList,
  file: string,
  { done, records }: { readonly done: number; readonly records: number },
): Promise<number> {
  let [at, from, hits] = [0, done, 0]
  let part: ImportedHits[] = []
  const add = async (to: number): Promise<void> => {
    const range = { from, to, isLast: to === records }
    await unlocked(systemEnvironment, () =>
      database.transaction((tx) => importPart(tx, list, part, range)),
    )
    for (const one of part) hits += one.hits
    part = []
    from = to
  }
  for await (const read of recordsOf(file)) {
    if (++at <= done) continue
    if ('item' in read && read.hits > 0) part.push(read)
    if (at - from === RECORDS_A_PART && at < records) await add(at)
  }
  await add(records)
  return hits
}

/** The records below the header. @throws Error for another header, and what reading throws */
async function* recordsOf(file: string, onBytes?: (bytes: Buffer) => void): AsyncGenerator<Read> {
  let header: string | undefined
  for await (const { line, content } of csvRecords(chunksOf(file, onBytes))) {
    if (header === undefined) {
      header = headerIn({ content })
      if (header !== HEADER) break
    } else if (typeof content === 'string') yield { line, problem: content }
    else yield readOf(content) ?? { line, problem: problemOf(content) }
  }
  if (header !== HEADER) {
    throw new Error(`line 1: the header is not ${[HEADER, ...DAY_HEADERS].join(' or ')}`)
  }
}

function headerIn(first: Pick<CsvRecord, 'content'> | undefined): string {
  return Array.isArray(first?.content) ? first.content.join(',').replace(/^\uFEFF/, '') : ''
}

async function* chunksOf(file: string, onBytes?: (bytes: Buffer) => void): AsyncGenerator<Buffer> {
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    onBytes?.(chunk)
    yield chunk
  }
}

function readOf([item, digits, ...more]: readonly string[]): ImportedHits | undefined {
  const hits = /^\d{1,16}$/.test(digits ?? '') ? Number(digits) : NaN
  if (item === undefined || more.length > 0 || !isItem(item)) return undefined
  return Number.isSafeInteger(hits) ? { item, hits } : undefined
}

function problemOf(cells: readonly string[]): string {
  if (cells.length !== 2) return `it has ${counted(cells.length, 'cell')}, not 2`
  if (!isItem(cells[0]!)) return `the item is no text of 1 to ${MAX_ITEM_BYTES} bytes`
  return 'the hits are no whole number from 0 to 9007199254740991'
}
