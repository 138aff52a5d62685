/** The entry `wide-cache/collision-free-map`: the map, and the export queue that goes with it. */
// First, so that a bundle is refused before anything else of it can fail.
import '../support/package-file.js'

export type { BucketOptions } from '../buckets/options.js'
export {
  BucketsDifferError,
  type Change,
  CollisionFreeMap,
  type CollisionFreeMapOptions,
} from './collision-free-map.js'
export {
  type ExportEntry,
  ExportQueue,
  type ExportQueueOptions,
} from '../export-queue/export-queue.js'
