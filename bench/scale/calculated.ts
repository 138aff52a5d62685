/** The model fed with the newest result of the part `scale`. */
import { type Result, newest } from '../harness/result.js'
import type { Table } from '../harness/table.js'
import { constantsOf } from './constants.js'
import { modelTables } from './model-tables.js'

/** @throws Error that says what to run if there is no such result */
export function calculated(read: (part: string) => Result = newest): Table[] {
  let result: Result
  try {
    result = read('scale')
  } catch (cause) {
    throw new Error(
      'The model has nothing to calculate from: bench/results/scale.json is missing; run ' +
        '`npm run bench -- scale` first',
      { cause },
    )
  }
  return modelTables(constantsOf(result))
}
