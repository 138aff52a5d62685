/** The tables that README and docs can ask for, by name. */
import { article } from './article.js'
import {
  collecting,
  collectingDimensions,
  exactlyOnce,
  reading,
  readingAtOnce,
  readingHistory,
} from './behind.js'
import { caches } from './caches.js'
import { databases, databasesRequests } from './databases.js'
import { embedded, embeddedCollecting } from './embedded.js'
import { freshness, idle } from './freshness.js'
import { growing, model, modelEnds } from './growing.js'
import {
  catchingUp,
  costsAndLosses,
  costsAndLossesInShort,
  faults,
  lossBound,
  lossBoundOfAll,
  losses,
  lossesOnFastCache,
  outageLosses,
} from './losses.js'
import type { Figures } from './measured.js'
import { apart, relatives, relativesInShort, viewers } from './relatives.js'
import { outages, overhead, overheadPage, rates, ratesOfMain, steps } from './requests.js'
import { besideRetention, retention, retentionForLong } from './retention.js'
import { machine, missed, reached, runs, settings } from './runs.js'
import { storage } from './storage.js'

export const TABLES: ReadonlyMap<string, Figures> = new Map(
  Object.entries({
    article,
    'costs-and-losses': costsAndLosses,
    'costs-and-losses-in-short': costsAndLossesInShort,
    losses,
    'losses-fast-cache': lossesOnFastCache,
    faults,
    'outage-losses': outageLosses,
    'loss-bound': lossBound,
    'loss-bound-of-all': lossBoundOfAll,
    'catching-up': catchingUp,
    overhead,
    'overhead-page': overheadPage,
    outages,
    rates,
    'rates-main': ratesOfMain,
    steps,
    collecting,
    'collecting-dimensions': collectingDimensions,
    'exactly-once': exactlyOnce,
    retention,
    'retention-for-long': retentionForLong,
    'beside-retention': besideRetention,
    storage,
    reading,
    'reading-history': readingHistory,
    'reading-at-once': readingAtOnce,
    embedded,
    'embedded-collecting': embeddedCollecting,
    freshness,
    idle,
    caches,
    databases,
    'databases-requests': databasesRequests,
    relatives,
    'relatives-in-short': relativesInShort,
    'relatives-apart': apart,
    'hits-viewers': viewers,
    growing,
    model,
    'model-ends': modelEnds,
    machine,
    runs,
    missed,
    reached,
    settings,
  }),
)
