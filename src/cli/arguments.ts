/**
 * What the command line says. Nothing of it is shown in a message but the names of flags: an
 * argument may hold a password. What values are allowed is for the options to say that they become.
 */
import { parseArgs } from 'node:util'

export const USAGE = `Usage: wide-cache <command> [flags]

Commands:
  collect   collects visits and hits of web processes with collect: false, until SIGTERM or SIGINT
  migrate   makes the tables, or brings them up to this version
  export    prints the history of an activity, or the values of a dimension with the most views
  remove-value  takes one value of a dimension out of the sums, and a page out of the visits

In a terminal start npx wide-cache collect; in a service node_modules/.bin/wide-cache collect, since
npx does not hand SIGTERM on. Rows of a WideCache of your own are collected by your own processes.

Flags of all:
  --database <url>            mysql://user:password@host/database or sqlite:./file.db
                              (default: WIDE_CACHE_DATABASE_URL, else DATABASE_URL,
                              else sqlite:./wide-cache.db)
  -h, --help, --version

Flags of collect. What is not given is as the web processes have recorded it in the database:
  --cache <servers>           memcached://host:port,host:port
                              (default: WIDE_CACHE_SERVERS, else MEMCACHE_SERVERS)
  --name <name>               only this: the name of an activity, or hits.<name> for hits
                              (default: all in the database, also those that come later)
  --width <columns>
  --layer-seconds <seconds>
  --drain-after-layers <n>    (default: 2)
  --cell-ttl-seconds <s>
  --retention-hours <hours>   of visits; the longest time that a process gives counts
  --collect <cron>            when to collect, a cron line with seconds (default: "*/10 * * * * *")

Flags of export:
  --from <moment>, --to <moment>  as 2026-05-17 or 2026-05-17T12:00Z
  --format <csv|ndjson>       (default: csv)
  --name <name>               of the activity (default: activity)
  --by <hour|day>             a row for each, days in UTC (default: day)
  --top <dimension>           not the history, but the values with the most views: page, or
                              a dimension of the site
  --n <values>                of --top, 1 to 1000 (default: 10)

Flags of remove-value. Page views of the value count as (other) from then on:
  --dimension <dimension>     page, or a dimension of the site
  --value <text>              as top() shows it
  --name <name>               of the activity (default: activity)

A password is safer in WIDE_CACHE_DATABASE_URL than in a flag, which other users of the machine
can see.
Exit status: 0 stopped or done, 1 something was found, 2 the command cannot run.
`

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
