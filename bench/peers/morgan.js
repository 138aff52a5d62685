// morgan to a file, in the format of Apache, as its README says.
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import morgan from 'morgan'
import { linesIn } from './logged.js'

export function start({ folder }) {
  const file = join(folder, `access-${process.pid}.log`)
  const stream = createWriteStream(file, { flags: 'a' })
  const flush = () => new Promise((resolve) => stream.write('', resolve))
  return {
    use(app) {
      app.use(morgan('combined', { stream }))
    },
    flush,
    async count() {
      await flush()
      return linesIn(file)
    },
    close: () => new Promise((resolve) => stream.end(resolve)),
  }
}
