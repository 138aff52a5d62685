/** The dimensions that the measure of bots has beside those of the site. */
import { botOf } from '../../page-views/bot-names.js'
import type { Received } from '../../page-views/handler.js'
import { remembering } from '../../page-views/remembering.js'
import { packDimensions } from '../packed-dimensions.js'
import { fitText } from '../text.js'

/** Their names: the name of the bot, and what it reads for. */
export const BOT_DIMENSIONS = ['bot', 'botPurpose'] as const

const MAX_NAME_BYTES = 100

/** Returns a function that packs the values of a bot's request. */
export function botValuesOf(): (req: Received) => string {
  const valuesOf = remembering(packedOf)
  return ({ headers }) => valuesOf(headers['user-agent'] ?? '')
}

function packedOf(userAgent: string): string {
  const { name, purpose } = botOf(userAgent)
  const [ofName, ofPurpose] = BOT_DIMENSIONS
  const named = name ? [ofName, fitText(name, MAX_NAME_BYTES)] : []
  return packDimensions([...named, ofPurpose, purpose])
}
