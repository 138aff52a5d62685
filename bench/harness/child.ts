/** A child process that is asked and answers by messages. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'

/** Sends `question`, if there is one, and resolves with the next message. @throws Error if the child ends without one */
export async function answerOf<T>(child: ChildProcess, question?: object): Promise<T> {
  const abort = new AbortController()
  const message = once(child, 'message', abort)
  const ended = once(child, 'exit', abort).then(() => { throw new Error('a child process has ended instead of answering; it has said why') })
  if (question) child.send(question)
  try {
    return ((await Promise.race([message, ended])) as [T])[0]
  } finally {
    abort.abort()
    await Promise.allSettled([message, ended])
  }
}
