/** The entry `wide-cache/collision-free-map`. */
// First, so that a bundle is refused before anything else of it can fail.
import '../support/package-file.js'

export {
  BucketsDifferError,
  type Change,
  CollisionFreeMap,
  type CollisionFreeMapOptions,
} from './collision-free-map.js'
export { type ExportEntry, ExportQueue, type ExportQueueOptions } from './export-queue.js'
