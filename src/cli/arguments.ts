/**
 * What the command line says. Nothing of it is shown in a message but the names of flags: an
 * argument may hold a password. What values are allowed is for the options to say that they become.
 */
import { parseArgs } from 'node:util'

/** A command line that asks for nothing that exists. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** What is asked for. A flag that is not given is `undefined`, an option not given. */
export type Command =
  | { readonly command: 'help' | 'version' }
  | { readonly command: 'migrate'; readonly database: string | undefined }
  | {
      readonly command: 'collect'
      readonly cache: string | undefined
      readonly options: CollectOptions
    }
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
const SHARED = { database: string, help: { ...boolean, short: 'h' }, version: boolean } as const

/** The flags of each command, beside those of all. */
const FLAGS = {
  collect: [
    'cache',
    'name',
    'width',
    'layer-seconds',
    'drain-after-layers',
    'cell-ttl-seconds',
    'retention-hours',
    'collect',
  ],
  migrate: [],
  export: ['from', 'to', 'format', 'name', 'by', 'top', 'n'],
  'remove-value': ['dimension', 'value', 'name'],
} as const satisfies Readonly<Record<string, readonly string[]>>

type CommandName = keyof typeof FLAGS
type Flag = (typeof FLAGS)[CommandName][number]

const OWN_FLAGS: readonly Flag[] = Object.values(FLAGS).flat()
const OWN = {
  cache: string,
  name: string,
  width: string,
  'layer-seconds': string,
  'drain-after-layers': string,
  'cell-ttl-seconds': string,
  'retention-hours': string,
  collect: string,
  from: string,
  to: string,
  format: string,
  by: string,
  top: string,
  n: string,
  dimension: string,
  value: string,
} satisfies Readonly<Record<Flag, typeof string>>
const COMMANDS = Object.keys(FLAGS).join(', ')

/** @throws UsageError */
export function commandOf(args: readonly string[]): Command {
  const { values, positionals } = parsed(args)
  if (values.help) return { command: 'help' }
  if (values.version) return { command: 'version' }
  const [command, ...more] = positionals
  if (command === undefined) throw new UsageError(`a command is missing: ${COMMANDS}`)
  if (!isCommand(command)) throw new UsageError(`no such command; there are ${COMMANDS}`)
  if (more.length > 0) {
    throw new UsageError(`${command} takes flags only, and something else is behind it`)
  }
  const taken: readonly string[] = FLAGS[command]
  const foreign = OWN_FLAGS.find((flag) => flag in values && !taken.includes(flag))
  if (foreign) throw new UsageError(`--${foreign} is no flag of ${command}`)
  const { database, name } = values
  switch (command) {
    case 'migrate':
      return { command, database }
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
      return {
        command,
        cache: values.cache,
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
        ? (error.message.split(/\. |\n/)[0] ?? '')
        : 'the flags cannot be read',
    )
  }
}

function numberOf(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^\d{1,15}$/.test(text)) throw new UsageError(`--${flag} wants a whole number`)
  return Number(text)
}
