/**
 * The `--interrupt-budget` of this process, for its child processes. The tests optimise functions
 * late: most of their processes are too short for it to pay, and all processors are busy.
 */
export const INTERRUPT_BUDGET: readonly string[] = process.execArgv.filter((arg) =>
  arg.startsWith('--interrupt-budget='),
)

/** Arguments of Node with which a child process runs TypeScript, from any working directory. */
export const TYPESCRIPT = [
  ...INTERRUPT_BUDGET,
  '--expose-internals',
  '--import',
  new URL('./register.js', import.meta.url).href,
]
