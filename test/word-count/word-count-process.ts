/**
 * Changes documents, processes the counts and exports them, all at once and without end: it is to
 * be killed.
 */
import { someText, WordCount } from './word-count.js'

const WRITERS = 3
const DOCUMENTS = 30

const [, , database = '', external = ''] = process.argv
const words = new WordCount(database, external)
let written = 0

/**
 * Repeats the work: a killed process may leave something in the way for a while, which is no error
 * of ours.
 */
async function again(work: () => Promise<unknown>): Promise<never> {
  for (;;) {
    try {
      await work()
    } catch (error) {
      process.send?.({ error: String(error) })
    }
  }
}

await words.counts.migrate()
for (let i = 0; i < WRITERS; i++) {
  void again(async () => {
    await words.write(Math.floor(Math.random() * DOCUMENTS), someText(Math.random))
    process.send?.({ written: ++written })
  })
}
void again(() => words.counts.process())
void again(() => words.exports.process())
