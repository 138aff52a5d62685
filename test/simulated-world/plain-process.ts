import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { TYPESCRIPT } from '../../scripts/typescript/exec-argv.js'

/**
 * A call that a plain process is asked to make: an export of a module, with values that JSON
 * carries.
 */
export interface Call {
  readonly module: string
  readonly name: string
  readonly args: readonly unknown[]
}

export type Answer = { readonly value: unknown } | { readonly error: string }

/**
 * Calls functions in a process without node:test. The hooks by which node:test follows every
 * promise make a simulation half as slow again.
 */
export class PlainProcess {
  readonly #child: ChildProcess

  constructor() {
    const program = fileURLToPath(new URL('./plain-process-main.ts', import.meta.url))
    this.#child = fork(program, { execArgv: TYPESCRIPT })
  }

  /** One call at a time. */
  async call<T>(module: URL, name: string, ...args: readonly unknown[]): Promise<T> {
    this.#child.send({ module: module.href, name, args } satisfies Call)
    const gone = new AbortController()
    try {
      const [answer] = (await Promise.race([
        once(this.#child, 'message', gone),
        once(this.#child, 'exit', gone).then(([code, signal]) => {
          throw new Error(`the process has ended with ${code ?? signal}`)
        }),
      ])) as [Answer]
      if ('error' in answer) throw new Error(answer.error)
      return answer.value as T
    } finally {
      gone.abort()
    }
  }

  end(): void {
    this.#child.disconnect()
  }
}
