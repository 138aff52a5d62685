/** Dimensions whose values have a measure of their own, beside the views of people. */
import type { Measure } from '../../page-views/measures.js'
import { PAGE } from '../sums.js'
import { BOT_DIMENSIONS } from './bots.js'
import { GONE } from './gone.js'

/** Their names, which no dimension of a site may have. */
export const RESERVED: readonly string[] = [...BOT_DIMENSIONS, GONE]

/** Where the values of a dimension are, if they are in a measure of their own. */
export interface OwnMeasure {
  readonly measure: Measure
  /** Its name there. */
  readonly dimension: string
}

/** @param bots whether any dimension is asked for of the views of bots */
export function ownMeasureOf(dimension: string, bots = false): OwnMeasure | undefined {
  if (dimension === GONE) return { measure: 'gone', dimension: PAGE }
  return bots || RESERVED.includes(dimension) ? { measure: 'bots', dimension } : undefined
}
