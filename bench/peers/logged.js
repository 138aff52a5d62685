// What the loggers share: how many lines a file has.
import { createReadStream } from 'node:fs'

const NEWLINE = 10

export async function linesIn(file) {
  let lines = 0
  for await (const chunk of createReadStream(file)) {
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at + 1)) lines++
  }
  return lines
}
