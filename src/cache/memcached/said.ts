/** What memcached can say. The message of such a CACHE_REFUSED ends with the remedy. */

/** A row of the table. */
interface Said {
  /** Statuses of the binary protocol. */
  readonly codes: readonly string[]
  /** What the operator does. */
  readonly remedy: string
}

export const SAID: readonly Said[] = [
  {
    codes: ['0x06'],
    remedy: 'let no other program change the keys of wide-cache',
  },
  {
    codes: ['0x08', '0x20'],
    remedy: 'check user and password, in the URL or in MEMCACHE_USERNAME and MEMCACHE_PASSWORD',
  },
  {
    codes: ['0x81', '0x83'],
    remedy: 'use memcached itself: a proxy must know its whole binary protocol',
  },
  {
    codes: ['0x82'],
    remedy: 'give memcached more memory (-m)',
  },
  {
    codes: ['0x84', '0x85', '0x86'],
    remedy: 'wait; if it lasts, look what the server does',
  },
]

/** The remedy of a status, if it has one. */
export function remedyOf(status: string): string | undefined {
  return SAID.find(({ codes }) => codes.includes(status))?.remedy
}
