/** Checks of the arguments of methods of Hits. */
import { wrongType, wrongValue } from '../support/options.js'
import { isItem, MAX_ITEM_BYTES } from './hit.js'

/** Items of one `counts()`. */
const MAX_ITEMS = 1_000

/** The items of a `counts()`. @throws TypeError, RangeError for what is no text, or too many */
export function checkedItems(items: Iterable<unknown>): string[] {
  const allowed = `an array or another iterable of at most ${MAX_ITEMS} texts`
  // A text is iterable too.
  if (typeof items !== 'object' || items === null || !(Symbol.iterator in items)) {
    throw wrongType('items', items, allowed)
  }
  const checked: string[] = []
  for (const item of items) {
    if (typeof item !== 'string') throw wrongType('items', item, allowed)
    if (checked.push(item) > MAX_ITEMS) {
      throw wrongValue('items', `over ${MAX_ITEMS} items`, allowed)
    }
  }
  return checked
}

/** An item that is to be deleted or renamed. @throws TypeError for what is no text */
export function checkedText(option: string, item: unknown): string {
  if (typeof item !== 'string') throw wrongType(option, item, 'a text')
  return item
}

/** The item that hits are given to. @throws TypeError, RangeError for what is no item */
export function checkedItem(option: string, item: unknown): string {
  const text = checkedText(option, item)
  if (!isItem(text)) throw wrongValue(option, text, `a text of 1 to ${MAX_ITEM_BYTES} bytes`)
  return text
}
