/** The tables that README and docs can ask for, by name. */
import { tables as article } from './article.js'
import { tables as behind } from './behind.js'
import { tables as caches } from './caches.js'
import { tables as databases } from './databases.js'
import { tables as embedded } from './embedded.js'
import { tables as freshness } from './freshness.js'
import { tables as growing } from './growing.js'
import { tables as losses } from './losses.js'
import type { Figures } from './measured.js'
import { tables as relatives } from './relatives.js'
import { tables as requests } from './requests.js'
import { tables as retention } from './retention.js'
import { tables as runs } from './runs.js'
import { tables as storage } from './storage.js'

export const TABLES: ReadonlyMap<string, Figures> = new Map(
  Object.entries({
    ...article,
    ...losses,
    ...requests,
    ...behind,
    ...retention,
    ...storage,
    ...embedded,
    ...freshness,
    ...caches,
    ...databases,
    ...relatives,
    ...growing,
    ...runs,
  }),
)
