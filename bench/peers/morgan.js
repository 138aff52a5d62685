// morgan to a file, in the format of Apache, as its README says.
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import morgan from 'morgan'
import { logged } from './logged.js'

export function start({ folder }) {
  const file = join(folder, `access-${process.pid}.log`)
  const stream = createWriteStream(file, { flags: 'a' })
  return logged(morgan('combined', { stream }), file, {
    flush: () => new Promise((resolve) => stream.write('', resolve)),
    close: () => new Promise((resolve) => stream.end(resolve)),
  })
}
