/** A question to a server that speaks in lines. */
import { connect } from 'node:net'

/** Whether the answer of 127.0.0.1:`port` to `command` begins with `answer`, and comes in time. */
export function says(
  port: number,
  command: string,
  answer: string,
  timeoutMs = 1000,
): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(`${command}\r\n`))
    const done = (answered: boolean) => {
      socket.destroy()
      resolve(answered)
    }
    socket.once('data', (data) => done(data.toString().startsWith(answer)))
    socket.once('error', () => done(false))
    socket.setTimeout(timeoutMs, () => done(false))
  })
}
