/** Runs a judge of a mutant: a program that must fail when the mutant runs. */
import { type ChildProcess, spawn } from 'node:child_process'
import { TYPESCRIPT } from '../../scripts/typescript/exec-argv.js'

export interface Judge {
  readonly name: string
  /** Arguments of Node for a program in TypeScript, run in the workbench's folder. */
  readonly args: readonly string[]
  /** Set where a mutant is judged by those of its tests that call the mutated function. */
  readonly only?: (names: readonly string[]) => Judge
  /** Set where its files may have no test of that name. It is then left out. */
  readonly mayBeEmpty?: boolean
}

/** A mutant that fills the memory must not take the machine's. */
const HEAP_MB = 1_024
const TRACKING = new URL('../track-tests.js', import.meta.url).href
/** Exit code of a judge in which no test ends any more; see first-failure.js. */
const STANDSTILL_CODE = 3

export interface Verdict {
  readonly found: boolean
  /** The last output of the judge, or a note that its time was over. */
  readonly says: string
  readonly timedOut: boolean
  readonly ms: number
}

/** Where a judge runs, and where its tests put their files. */
export interface Place {
  readonly folder: string
  readonly temporary: string
}

/** Runs a judge. One that takes longer than `timeoutMs` has found the mutant. */
export async function judge(
  { args }: Judge,
  { folder, temporary }: Place,
  timeoutMs: number,
  environment: NodeJS.ProcessEnv = {},
): Promise<Verdict> {
  const began = performance.now()
  // A process group of its own, so that what the tests have started ends with it.
  const child = spawn(
    process.execPath,
    [`--max-old-space-size=${HEAP_MB}`, ...TYPESCRIPT, '--import', TRACKING, ...args],
    {
      cwd: folder,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        ...environment,
        TMPDIR: temporary,
        NODE_TEST_CONTEXT: undefined,
      },
    },
  )
  const end = (): void => endGroup(child)
  process.once('exit', end)
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (data: Buffer) => {
      said[name] = (said[name] + data.toString()).slice(-4_000)
    })
  }
  let timedOut = false
  const timer = setTimeout(() => {
    timedOut = true
    end()
  }, timeoutMs)
  const code = await new Promise<number | null>((resolve) => child.on('exit', resolve))
  clearTimeout(timer)
  process.off('exit', end)
  end()
  const says = timedOut
    ? `not done after ${Math.round(timeoutMs / 1000)} s`
    : lastLine(said.stdout) || lastLine(said.stderr)
  return {
    found: code !== 0,
    says,
    timedOut: timedOut || code === STANDSTILL_CODE,
    ms: performance.now() - began,
  }
}

function endGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  } catch {
    // All of it has ended.
  }
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) ?? ''
}
