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

/** Values that a flag takes: a text, a whole number, or none. */
type Kind = 'text' | 'number' | 'switch'

/** The flags of each command, beside those of all. */
export const FLAGS = {
  collect: {
    cache: 'text',
    name: 'text',
    width: 'number',
    'layer-seconds': 'number',
    'drain-after-layers': 'number',
    'cell-ttl-seconds': 'number',
    'retention-hours': 'number',
    collect: 'text',
    listen: 'text',
    module: 'text',
  },
  migrate: {},
  status: { name: 'text', all: 'switch', watch: 'switch', json: 'switch' },
  doctor: { cache: 'text', json: 'switch' },
  quarantine: { name: 'text', json: 'switch' },
  parked: { name: 'text', json: 'switch' },
  certificate: { name: 'text', json: 'switch' },
  export: {
    from: 'text',
    to: 'text',
    format: 'text',
    name: 'text',
    by: 'text',
    top: 'text',
    n: 'number',
    dimension: 'text',
    value: 'text',
  },
  import: {
    name: 'text',
    id: 'text',
    measure: 'text',
    'skip-invalid': 'switch',
    remove: 'switch',
  },
  reconcile: {
    name: 'text',
    from: 'text',
    to: 'text',
    host: 'text',
    allow: 'text',
    json: 'switch',
    csv: 'switch',
    format: 'text',
  },
  'remove-value': { dimension: 'text', value: 'text', name: 'text' },
  note: { name: 'text', remove: 'switch' },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Kind>>>>

/** Readers of the words that follow a command, for those that take more than flags. */
const WORDS = {
  certificate: (words: readonly string[]) => ({ day: dayOf(words) }),
  import: (words: readonly string[]) => ({ file: fileOf(words) }),
  note: (words: readonly string[]) => noteOf(words),
  reconcile: (files: readonly string[]) => ({ files }),
  quarantine: (words: readonly string[]) => ({
    action: actionOf('quarantine', ['retry', 'drop'], words, frameId),
  }),
  parked: (words: readonly string[]) => ({
    action: actionOf('parked', ['retry', 'skip'], words, parkedId),
  }),
} as const

const SHARED = {
  database: { type: 'string' },
  log: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} as const

const COMMANDS = Object.keys(FLAGS).join(', ')
const OWN_FLAGS = new Map<string, Kind>(Object.values(FLAGS).flatMap(Object.entries))

type CommandName = keyof typeof FLAGS

/** `layerSeconds` of `layer-seconds`. */
type Camel<Text> = Text extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Text

interface Values {
  readonly text: string | undefined
  readonly number: number | undefined
  readonly switch: boolean
}

type FlagsOf<Name extends CommandName> = (typeof FLAGS)[Name]
type WordsOf<Name> = Name extends keyof typeof WORDS ? ReturnType<(typeof WORDS)[Name]> : unknown

/** The database, flags and words of a command. One that is not given is `undefined`, or `false`. */
export type OptionsOf<Name extends CommandName> = WordsOf<Name> & {
  readonly database: string | undefined
} & {
  readonly [Flag in keyof FlagsOf<Name> as Camel<Flag>]: Values[FlagsOf<Name>[Flag] & Kind]
}

/** Command that is asked for. */
export type Command =
  | { readonly command: 'help' | 'version' }
  | {
      readonly [Name in CommandName]: { readonly command: Name; readonly options: OptionsOf<Name> }
    }[CommandName]

/** Action on what is set aside, and the ids that it applies to. */
export type Action<Id, Verb> =
  | { readonly verb: 'list' }
  | { readonly verb: 'show'; readonly id: Id }
  | { readonly verb: Verb; readonly ids: readonly Id[] | 'all' }

/** Returns the format of the log, `text` by default. Needed before anything else is read. */
export function logFormatOf(args: readonly string[]): LogFormat {
  const { values } = parseArgs({ args: [...args], options: { log: SHARED.log }, strict: false })
  return LOG_FORMATS.find((format) => format === values.log) ?? 'text'
}

/** @throws UsageError */
export function commandOf(args: readonly string[]): Command {
  const { values, positionals } = parsed(args)
  if (values['help']) return { command: 'help' }
  if (values['version']) return { command: 'version' }
  const { log = 'text' } = values
  if (!LOG_FORMATS.some((format) => format === log)) {
    throw new UsageError(`--log wants ${LOG_FORMATS.join(' or ')}`)
  }
  const [command, ...more] = positionals
  if (command === undefined) throw new UsageError(`a command is missing: ${COMMANDS}`)
  if (!isCommand(command)) throw noSuchCommand(command)
  const readWords = command in WORDS ? WORDS[command as keyof typeof WORDS] : undefined
  if (more.length > 0 && !readWords) {
    throw new UsageError(`${command} takes flags only, and another argument follows it`)
  }
  const flags: Readonly<Record<string, Kind>> = FLAGS[command]
  const unknown = [...OWN_FLAGS.keys()].find((flag) => flag in values && !(flag in flags))
  if (unknown) throw new UsageError(`--${unknown} is no flag of ${command}`)
  if ('module' in values) refuseBesideModule(Object.keys(values))
  const options = Object.entries(flags).map(([flag, kind]) => [
    flag.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase()),
    valueOf(flag, kind, values[flag]),
  ])
  return {
    command,
    options: {
      database: values['database'],
      ...(Object.fromEntries(options) as object),
      ...readWords?.(more),
    },
  } as Command
}

/** The exports of a module have servers and options of their own. @throws UsageError */
function refuseBesideModule(given: readonly string[]): void {
  const other = ['database', ...Object.keys(FLAGS.collect)].find(
    (flag) => given.includes(flag) && !['module', 'collect', 'listen'].includes(flag),
  )
  if (other) {
    throw new UsageError(
      `--${other} does not go with --module: the exports of the file have their own options`,
    )
  }
}

/** @throws UsageError */
function dayOf([day, ...more]: readonly string[]): string | undefined {
  if (more.length === 0 && (day === undefined || /^\d{4}-\d{2}-\d{2}$/.test(day))) return day
  throw new UsageError('certificate wants one day such as 2026-05-17, or none for today')
}

/** @throws UsageError */
function noteOf([day, ...texts]: readonly string[]): { day: string; text: string | null } {
  const [text = null, more] = texts
  if (day !== undefined && more === undefined) return { day, text }
  throw new UsageError('note wants a day and a text, such as note 2026-05-17 "released 2.0"')
}

/** @throws UsageError */
function fileOf([file, ...more]: readonly string[]): string {
  if (file !== undefined && more.length === 0) return file
  throw new UsageError('import wants one file, or - for stdin; import --remove wants one id')
}

/** @throws UsageError */
function frameId(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new UsageError('quarantine wants ids, whole numbers as its list has them')
}

/** @throws UsageError */
function parkedId(text: string): string {
  if (/^(?:update|entry)-[1-9]\d{0,14}$/.test(text)) return text
  throw new UsageError('parked wants ids such as update-12 or entry-7, as its list has them')
}

const MAX_IDS = 1_000

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

/** Flags without their dashes, and words. @throws UsageError */
function parsed(args: readonly string[]): {
  readonly values: Readonly<Record<string, unknown>>
  readonly positionals: readonly string[]
} {
  const own = [...OWN_FLAGS].map(([flag, kind]) => [
    flag,
    { type: kind === 'switch' ? 'boolean' : 'string' } as const,
  ])
  try {
    return parseArgs({
      args: [...args],
      options: { ...(Object.fromEntries(own) as object), ...SHARED },
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

function valueOf(flag: string, kind: Kind, given: unknown): string | number | boolean | undefined {
  if (kind === 'switch') return given === true
  if (typeof given !== 'string') return undefined
  if (kind === 'text') return given
  if (!/^\d{1,15}$/.test(given)) throw new UsageError(`--${flag} wants a whole number`)
  return Number(given)
}
