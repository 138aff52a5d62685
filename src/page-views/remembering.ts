/** Looks at texts that strangers send, such as user agents, once each. */
import { Memo } from './memo.js'

/** Texts remembered. */
const REMEMBERED = 5_000

/** Characters that are looked at. A longer text is not remembered: it would be kept whole. */
const MAX_LOOKED_AT = 512

/** Returns `look`, which is called once for a text that comes again and again. */
export function remembering<Value>(look: (text: string) => Value): (text: string) => Value {
  const looks = new Memo(REMEMBERED, look)
  return (text) =>
    text.length <= MAX_LOOKED_AT ? looks.get(text) : look(text.slice(0, MAX_LOOKED_AT))
}
