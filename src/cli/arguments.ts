/**
 * Reads the command line. Messages show nothing of it but the names of flags, because an argument
 * may hold a password. The options that the arguments become check which values are allowed.
 */
import { parseArgs } from 'node:util'
import { LOG_FORMATS, type LogFormat } from './log.js'

/** A command line that asks for nothing that exists. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/**
 * Command that is asked for. A flag that is not given leaves its option `undefined`, or `false`.
 */
export type Command =
  | { readonly command: 'help' | 'version' }
  | { readonly command: 'migrate'; readonly database: string | undefined }
  | {
      readonly command: 'collect'
      readonly cache: string | undefined
      readonly listen: string | undefined
      readonly options: CollectOptions
    }
  | { readonly command: 'certificate'; readonly options: CertificateOptions }
  | {
      readonly command: 'collect-module'
      readonly module: string
      readonly collect: string | undefined
      readonly listen: string | undefined
    }
  | { readonly command: 'status'; readonly options: StatusOptions }
  | { readonly command: 'doctor'; readonly options: DoctorOptions }
  | { readonly command: 'quarantine'; readonly options: QuarantineOptions }
  | { readonly command: 'parked'; readonly options: ParkedOptions }
  | { readonly command: 'export'; readonly options: ExportOptions }
  | { readonly command: 'remove-value'; readonly options: RemoveValueOptions }

export interface CollectOptions {
  readonly database: string | undefined
  readonly name: string | undefined
  readonly width: number | undefined
  readonly layerSeconds: number | undefined
  readonly drainAfterLayers: number | undefined
  readonly cellTtlSeconds: number | undefined
  readonly retentionHours: number | undefined
  readonly collect: string | undefined
}

export interface CertificateOptions {
  readonly database: string | undefined
  readonly name: string | undefined
  readonly json: boolean
  /** As in `2026-05-17`. */
  readonly day: string | undefined
}

export interface StatusOptions {
  readonly database: string | undefined
  readonly name: string | undefined
  readonly json: boolean
  readonly watch: boolean
}

export interface DoctorOptions {
  readonly database: string | undefined
  readonly cache: string | undefined
  readonly json: boolean
}

export interface QuarantineOptions {
  readonly database: string | undefined
  readonly name: string | undefined
  readonly json: boolean
  readonly action: QuarantineAction
}

/** Action, and what it applies to. */
type Action<Id, Verb> =
  | { readonly verb: 'list' }
  | { readonly verb: 'show'; readonly id: Id }
  | { readonly verb: Verb; readonly ids: readonly Id[] | 'all' }

/** Ids of frames. */
export type QuarantineAction = Action<number, 'retry' | 'drop'>

export interface ParkedOptions {
  readonly database: string | undefined
  readonly name: string | undefined
  readonly json: boolean
  readonly action: ParkedAction
}

/** Ids such as `update-12` and `entry-7`. */
export type ParkedAction = Action<string, 'retry' | 'skip'>

export interface ExportOptions {
  readonly database: string | undefined
  readonly name: string | undefined
  readonly from: string | undefined
  readonly to: string | undefined
  readonly format: string | undefined
  readonly by: string | undefined
  readonly top: string | undefined
  readonly n: number | undefined
}

export interface RemoveValueOptions {
  readonly database: string | undefined
  readonly name: string | undefined
  readonly dimension: string | undefined
  readonly value: string | undefined
}

const string = { type: 'string' } as const
const boolean = { type: 'boolean' } as const
const SHARED = {
  database: string,
  log: string,
  help: { ...boolean, short: 'h' },
  version: boolean,
} as const

/** The flags of each command, beside those of all. */
export const FLAGS = {
  collect: [
    'cache',
    'name',
    'width',
    'layer-seconds',
    'drain-after-layers',
    'cell-ttl-seconds',
    'retention-hours',
    'collect',
    'listen',
    'module',
  ],
  migrate: [],
  status: ['name', 'watch', 'json'],
  doctor: ['cache', 'json'],
  quarantine: ['name', 'json'],
  parked: ['name', 'json'],
  certificate: ['name', 'json'],
  export: ['from', 'to', 'format', 'name', 'by', 'top', 'n'],
  'remove-value': ['dimension', 'value', 'name'],
} as const satisfies Readonly<Record<string, readonly string[]>>

type CommandName = keyof typeof FLAGS
type Flag = (typeof FLAGS)[CommandName][number]

/** All of these. */
export const OWN_FLAGS: readonly Flag[] = Object.values(FLAGS).flat()
const OWN = {
  cache: string,
  name: string,
  width: string,
  'layer-seconds': string,
  'drain-after-layers': string,
  'cell-ttl-seconds': string,
  'retention-hours': string,
  collect: string,
  listen: string,
  module: string,
  watch: boolean,
  json: boolean,
  from: string,
  to: string,
  format: string,
  by: string,
  top: string,
  n: string,
  dimension: string,
  value: string,
} satisfies Readonly<Record<Flag, typeof string | typeof boolean>>
/** Commands that take more than flags. */
const TAKES_WORDS: readonly string[] = ['certificate', 'quarantine', 'parked']
const COMMANDS = Object.keys(FLAGS).join(', ')

/** Returns the format of the log, `text` by default. Needed before anything else is read. */
export function logFormatOf(args: readonly string[]): LogFormat {
  const { values } = parseArgs({ args: [...args], options: { log: string }, strict: false })
  return LOG_FORMATS.find((format) => format === values.log) ?? 'text'
}

/** @throws UsageError */
export function commandOf(args: readonly string[]): Command {
  const { values, positionals } = parsed(args)
  if (values.help) return { command: 'help' }
  if (values.version) return { command: 'version' }
  if (values.log !== undefined && !LOG_FORMATS.some((format) => format === values.log)) {
    throw new UsageError(`--log wants ${LOG_FORMATS.join(' or ')}`)
  }
  const [command, ...more] = positionals
  if (command === undefined) throw new UsageError(`a command is missing: ${COMMANDS}`)
  if (!isCommand(command)) throw noSuchCommand(command)
  if (more.length > 0 && !TAKES_WORDS.includes(command)) {
    throw new UsageError(`${command} takes flags only, and another argument follows it`)
  }
  const taken: readonly string[] = FLAGS[command]
  const foreign = OWN_FLAGS.find((flag) => flag in values && !taken.includes(flag))
  if (foreign) throw new UsageError(`--${foreign} is no flag of ${command}`)
  const { database, name, cache, json = false } = values
  switch (command) {
    case 'migrate':
      return { command, database }
    case 'status':
      return { command, options: { database, name, json, watch: values.watch ?? false } }
    case 'doctor':
      return { command, options: { database, cache, json } }
    case 'quarantine':
      return { command, options: { database, name, json, action: quarantineAction(more) } }
    case 'parked':
      return { command, options: { database, name, json, action: parkedAction(more) } }
    case 'certificate':
      return { command, options: { database, name, json, day: dayOf(more) } }
    case 'export': {
      const { from, to, format, by, top } = values
      const n = numberOf('n', values.n)
      return { command, options: { database, name, from, to, format, by, top, n } }
    }
    case 'remove-value': {
      const { dimension, value } = values
      return { command, options: { database, name, dimension, value } }
    }
    case 'collect':
      if (values.module !== undefined) return collectModule(values.module, values)
      return {
        command,
        cache,
        listen: values.listen,
        options: {
          database,
          name,
          width: numberOf('width', values.width),
          layerSeconds: numberOf('layer-seconds', values['layer-seconds']),
          drainAfterLayers: numberOf('drain-after-layers', values['drain-after-layers']),
          cellTtlSeconds: numberOf('cell-ttl-seconds', values['cell-ttl-seconds']),
          retentionHours: numberOf('retention-hours', values['retention-hours']),
          collect: values.collect,
        },
      }
  }
}

/** @throws UsageError */
function dayOf([day, ...more]: readonly string[]): string | undefined {
  if (more.length === 0 && (day === undefined || /^\d{4}-\d{2}-\d{2}$/.test(day))) return day
  throw new UsageError('certificate wants one day such as 2026-05-17, or none for today')
}

/**
 * Returns the command for `--module`. Refuses most other flags, because the exports have servers
 * and options of their own.
 */
function collectModule(
  module: string,
  values: { readonly collect?: string | undefined; readonly listen?: string | undefined },
): Command {
  const other = ['database', ...FLAGS.collect].find(
    (flag) => flag in values && !['module', 'collect', 'listen'].includes(flag),
  )
  if (other) {
    throw new UsageError(
      `--${other} does not go with --module: the exports of the file have their own options`,
    )
  }
  const { collect, listen } = values
  return { command: 'collect-module', module, collect, listen }
}

const MAX_IDS = 1_000

/** @throws UsageError */
function quarantineAction(words: readonly string[]): QuarantineAction {
  return actionOf('quarantine', ['retry', 'drop'], words, (text) => {
    if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
    throw new UsageError('quarantine wants ids, whole numbers as its list has them')
  })
}

/** @throws UsageError */
function parkedAction(words: readonly string[]): ParkedAction {
  return actionOf('parked', ['retry', 'skip'], words, (text) => {
    if (/^(?:update|entry)-[1-9]\d{0,14}$/.test(text)) return text
    throw new UsageError('parked wants ids such as update-12 or entry-7, as its list has them')
  })
}

/** @throws UsageError */
function actionOf<Id, Verb extends string>(
  command: string,
  verbs: readonly Verb[],
  [word, ...words]: readonly string[],
  idOf: (text: string) => Id,
): Action<Id, Verb> {
  const [first, ...others] = words
  if (word === 'list' && first === undefined) return { verb: word }
  if (word === 'show' && first !== undefined && others.length === 0) {
    return { verb: word, id: idOf(first) }
  }
  const verb = verbs.find((known) => known === word)
  if (verb !== undefined && first !== undefined) {
    if (first === 'all' && others.length === 0) return { verb, ids: 'all' }
    if (words.length > MAX_IDS) throw new UsageError(`${command} takes ${MAX_IDS} ids at most`)
    return { verb, ids: [...new Set(words.map(idOf))] }
  }
  const more = verbs.map((known) => `${known} <id…> or ${known} all`)
  throw new UsageError(`${command} wants ${['list', 'show <id>', ...more].join(', ')}`)
}

/** Repeats what resembles a command. The rest may be a URL with a password. */
function noSuchCommand(text: string): UsageError {
  const near = /^[a-z-]{3,20}$/.test(text)
    ? Object.keys(FLAGS).find((name) => name.startsWith(text.slice(0, 3)))
    : undefined
  return new UsageError(
    near === undefined
      ? `no such command; there are ${COMMANDS}`
      : `no such command: ${text}. Did you mean ${near}?`,
  )
}

function isCommand(text: string): text is CommandName {
  return Object.hasOwn(FLAGS, text)
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: { ...SHARED, ...OWN },
      allowPositionals: true,
    })
  } catch (error) {
    // Of node's advice the first sentence is enough; it names the flag, never its value.
    throw new UsageError(
      error instanceof Error
        ? (error.message.split(/\. |\n/)[0] ?? '').replace(/('--?[\w-]*)[^\w' <-][^']*'/, "$1…'")
        : 'the flags cannot be read',
    )
  }
}

function numberOf(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^\d{1,15}$/.test(text)) throw new UsageError(`--${flag} wants a whole number`)
  return Number(text)
}
