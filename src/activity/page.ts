/** The page of a visit. */
import { normalPath, pathOf } from '../page-views/path.js'
import { fitText } from './text.js'

/** Bytes of UTF-8 that are stored of a page. */
export const MAX_PAGE_BYTES = 1024

/** `text` as it is stored. */
export function pageOf(text: string): string {
  return fitText(text, MAX_PAGE_BYTES)
}

/** The page of a request's target: paths that are equal are one page. */
export function pageOfTarget(target: string): string {
  return normalPath(pathOf(target))
}
