import type { PlantedBug } from './planted-bug.js'
import { IN_COLLECTOR } from './planted-in-collector.js'
import { IN_LEDGER } from './planted-in-ledger.js'
import { IN_WRITER } from './planted-in-writer.js'

export type { Replacement } from './planted-bug.js'

/** All bugs that are planted to see whether the simulation finds them. */
export const PLANTED_BUGS: readonly PlantedBug[] = [...IN_LEDGER, ...IN_COLLECTOR, ...IN_WRITER]
