// What the loggers share: middleware that writes to a file, which has a line for each request.
import { createReadStream } from 'node:fs'

const NEWLINE = 10

/** `flush`: resolves when all lines are in the file. */
export function logged(middleware, file, { flush, close }) {
  return {
    use: (app) => app.use(middleware),
    flush,
    async count() {
      await flush()
      return linesIn(file)
    },
    close,
  }
}

async function linesIn(file) {
  let lines = 0
  for await (const chunk of createReadStream(file)) {
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at + 1)) lines++
  }
  return lines
}
