// A process for each visit, which inserts it. The response does not wait.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterResponse } from './express.js'

const PROGRAM = fileURLToPath(new URL('./record-visit.js', import.meta.url))

export function start({ mysqlUrl }) {
  const running = new Set()
  function record(visit) {
    const child = spawn(process.execPath, [PROGRAM, mysqlUrl, JSON.stringify(visit)], {
      stdio: 'ignore',
    })
    running.add(child)
    child.on('exit', () => running.delete(child))
  }
  const flush = () => Promise.all([...running].map((child) => once(child, 'exit')))
  return {
    use: (app) => app.use(afterResponse(record)),
    flush,
    close: flush,
  }
}
