/**
 * Imported first by each group of test files (see `groups.ts`): a process that ends before all of
 * its tests have run fails. Otherwise a test that ends its process would hide the files behind it.
 */
import { after } from 'node:test'

let all = false
after(() => {
  all = true
})
process.once('exit', () => {
  if (all) return
  console.error('The process of this group of test files ended before all of its tests had run')
  process.exitCode = 1
})
