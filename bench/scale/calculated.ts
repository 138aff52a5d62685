/** The model fed with the newest result of the part `scale`. */
import { newest } from '../harness/result.js'
import type { Table } from '../harness/table.js'
import { constantsOf, type Kept } from './constants.js'
import { modelTables } from './model-tables.js'

/** @throws Error that says what to run if there is no such result */
export function calculated(read: (part: string) => Kept = newest): Table[] {
  return modelTables(constantsOf(read('scale')))
}
