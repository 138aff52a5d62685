/** The page of a visit. */
import { fitText } from './text.js'

/** Bytes of UTF-8 that are stored of a page. */
export const MAX_PAGE_BYTES = 1024

/** `text` as it is stored. */
export function pageOf(text: string): string {
  return fitText(text, MAX_PAGE_BYTES)
}
