/** The contenders of the part `embedded`; the first counts nothing. */
export const CONTENDERS = [
  'nothing',
  'INSERT',
  'buffer',
  'rows',
  'rows, with dimensions',
  'sums',
] as const

export type ContenderName = (typeof CONTENDERS)[number]
