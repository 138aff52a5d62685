// pino-http to a file, by a destination that writes 4 KiB at a time and never makes the process
// wait, as pino's page on asynchronous logging says.
import { join } from 'node:path'
import { once } from 'node:events'
import { pino } from 'pino'
import { pinoHttp } from 'pino-http'
import { logged } from './logged.js'

const MIN_LENGTH = 4096

export async function start({ folder }) {
  const file = join(folder, `pino-${process.pid}.log`)
  const destination = pino.destination({ dest: file, minLength: MIN_LENGTH, sync: false })
  await once(destination, 'ready')
  const flush = () =>
    new Promise((resolve, reject) =>
      destination.flush((error) => (error ? reject(error) : resolve())),
    )
  return logged(pinoHttp({}, destination), file, {
    flush,
    async close() {
      await flush()
      destination.end()
    },
  })
}
