/**
 * `npm run mutate -- --folder counters --sample 100 --seed 1`: changes the sources of a folder in
 * small ways, one at a time and in a copy, and tells which changes no test and no simulation finds.
 * `--help` lists the options.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { ensureBinaries } from '../servers/binaries.js'
import { startMariadb } from '../servers/mariadb.js'
import { startMemcached } from '../servers/memcached.js'
import {
  initialisedPostgresData,
  MANY_DATABASES,
  POSTGRES_DATA_VARIABLE,
  startPostgres,
} from '../servers/postgres.js'
import { MEMCACHED_VARIABLE, MYSQL_VARIABLE, POSTGRES_VARIABLE } from '../servers/shared.js'
import { Random } from '../simulated-world/random.js'
import { JUDGES, judgesOf } from './judges.js'
import { type Mutant, mutantsOf } from './mutants.js'
import { Court, halfSemantic } from './run.js'
import { type Row, table } from './summary.js'
import { type Description, isOf, outdated, readExplanations } from './survivors.js'
import { sourcesOf, Workbench } from './workbench.js'

/** Of 21 targets: over 600. Half of them are semantic where there are enough. */
const SAMPLE = 30
const HELP = `npm run mutate -- [options]
  --folder <folder>    a folder or a file below src, or browser, postgres or redis; may be
                       given several times
                       (default: ${Object.keys(JUDGES).join(', ')})
  --sample <n>         how many mutants of each folder; 0 for all (default: ${SAMPLE})
  --seed <n>           which ones (default: 27)
  --from-file <file>   the mutants of this JSON file instead of a sample,
                       such as test/mutation/survivors.json
  --judges <text>      only the judges whose name has this text, such as "unit tests"
  --survivors <file>   write the survivors that are not explained to this JSON file
  --list               print the mutants and stop
Exit code 1: a survivor is not explained, an explanation is outdated, an explained mutant is found,
or a judge fails without a mutant.`
const { values } = parseArgs({
  options: {
    folder: { type: 'string', multiple: true, default: Object.keys(JUDGES) },
    sample: { type: 'string', default: String(SAMPLE) },
    seed: { type: 'string', default: '27' },
    'from-file': { type: 'string' },
    survivors: { type: 'string' },
    judges: { type: 'string', default: '' },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(HELP)
  process.exit(0)
}
const explanations = readExplanations()
const listed =
  values['from-file'] === undefined
    ? undefined
    : (JSON.parse(readFileSync(values['from-file'], 'utf8')) as Description[])
const parts: { part: string; all: Mutant[]; chosen: Mutant[] }[] = []
for (const part of values.folder) {
  if (!JUDGES[part.split('/')[0]!]) {
    throw new RangeError(
      `No judges for --folder ${part}; allowed: ${Object.keys(JUDGES).join(', ')}, or a file ` +
        'in one of them',
    )
  }
  const all = (
    await Promise.all(sourcesOf(part).map(({ file, text }) => mutantsOf(file, text)))
  ).flat()
  const chosen = listed
    ? all.filter((mutant) => listed.some(isOf(mutant)))
    : halfSemantic(all, Number(values.sample) || all.length, new Random(Number(values.seed)))
  parts.push({ part, all, chosen })
}
if (values.list) {
  for (const { file, line, mutator, was, is } of parts.flatMap(({ chosen }) => chosen)) {
    console.log(`${file}:${line} ${mutator}\n  - ${was}\n  + ${is}`)
  }
  process.exit(0)
}

ensureBinaries(['memcached', 'mariadb', 'postgres', 'redis', 'chromiumShell', 'chromium'])
process.env[POSTGRES_DATA_VARIABLE] = await initialisedPostgresData()
const servers = await Promise.all([startMariadb(), startMemcached(), startPostgres(MANY_DATABASES)])
const [mariadb, memcached, postgres] = servers
process.env[MYSQL_VARIABLE] = mariadb.url()
process.env[POSTGRES_VARIABLE] = postgres.url()
process.env[MEMCACHED_VARIABLE] = `127.0.0.1:${memcached.port}`
const bench = new Workbench()
// What the run has started and made goes with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    bench.close()
    void Promise.all(servers.map((server) => server.stop())).finally(() => process.exit(130))
  })
}
const court = new Court(bench)
const unexplained: Mutant[] = []
const rows: Row[] = []
let wrong = 0
try {
  for (const { part, all, chosen } of parts) {
    rows.push(await judgeAll(part, chosen))
    reportOutdated(all)
    saveSurvivors()
  }
  wrong += court.leftOut.length
  for (const why of court.leftOut) console.log(`A judge is left out: ${why}`)
  console.log(`Seed ${values.seed}:\n${table(rows)}`)
} finally {
  bench.close()
  await Promise.all(servers.map((server) => server.stop()))
}
process.exit(unexplained.length > 0 || wrong > 0 ? 1 : 0)

async function judgeAll(part: string, chosen: readonly Mutant[]): Promise<Row> {
  const began = performance.now()
  let [found, timedOut, explained] = [0, 0, 0]
  for (const [i, mutant] of chosen.entries()) {
    const { file, line, mutator, was, is } = mutant
    const where = `${i + 1}/${chosen.length} ${file}:${line} ${mutator}`
    const judges = judgesOf(file, part.split('/')[0]).filter(({ name }) =>
      name.includes(values.judges),
    )
    const result = await court.tried(mutant, judges)
    const explanation = explanations.find(isOf(mutant))
    if (result) {
      found++
      if (result.timedOut) timedOut++
      console.log(`${where}: found by the ${result.by}: ${result.says.slice(0, 150)}`)
      if (explanation) {
        wrong++
        console.log(
          `  but test/mutation/survivors.json explains why nothing finds it\n  - ${was}\n  + ${is}`,
        )
      }
      continue
    }
    if (explanation) explained++
    else unexplained.push(mutant)
    console.log(
      `${where}: SURVIVES${explanation ? `, explained: ${explanation.why}` : ''}\n  - ` +
        `${was}\n  + ${is}`,
    )
  }
  const seconds = Math.round((performance.now() - began) / 1000)
  return { part, mutants: chosen.length, found, timedOut, explained, seconds }
}

/** Scripts of browsers lie in folders of other targets. */
function reportOutdated(all: readonly Mutant[]): void {
  const files = new Set(all.map(({ file }) => file))
  const ofPart = explanations.filter(({ file }) => files.has(file))
  for (const { file, was, is } of outdated(ofPart, all)) {
    wrong++
    console.log(
      `${file}: the source has changed; remove from test/mutation/survivors.json, or ` +
        `adapt:\n  - ${was}\n  + ${is}`,
    )
  }
}

/** After each part, so that a run that is ended leaves what it knows. */
function saveSurvivors(): void {
  if (values.survivors === undefined) return
  const found = unexplained.map(({ file, was, is }) => ({ file, was, is, why: '' }))
  writeFileSync(values.survivors, `${JSON.stringify(found, null, 2)}\n`)
}
