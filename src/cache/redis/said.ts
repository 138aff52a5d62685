/** What Redis and Valkey can say. The message of such a CACHE_REFUSED ends with the remedy. */

/** A row of the table. */
interface Said {
  /** The words that a reply begins with. */
  readonly codes: readonly string[]
  /** What the operator does. */
  readonly remedy: string
}

export const SAID: readonly Said[] = [
  {
    codes: ['WRONGPASS', 'NOAUTH', 'ERR AUTH', 'ERR invalid password'],
    remedy: 'check user and password in the URL',
  },
  {
    codes: ['NOPERM'],
    remedy:
      'grant the user get, set, del, eval, exists, strlen and append on all keys (ACL SETUSER); ' +
      'for wide-cache doctor also info and config',
  },
  {
    codes: ['DENIED'],
    remedy: 'give the server a password',
  },
  {
    codes: ['ERR DB index'],
    remedy: 'correct the number at the end of the URL, or raise databases at the server',
  },
  {
    codes: ['ERR max number of clients'],
    remedy: 'raise maxclients at the server, or find out who opens so many',
  },
  {
    codes: ['ERR unknown command', 'ERR unknown subcommand'],
    remedy: 'use Redis 6.0 or later, or Valkey, and rename no command there',
  },
  {
    codes: ['OOM'],
    remedy: 'raise maxmemory at the server',
  },
  {
    codes: ['READONLY', 'MASTERDOWN', 'NOREPLICAS'],
    remedy: 'name the primary, or end the failover',
  },
  {
    codes: ['MOVED', 'ASK', 'CROSSSLOT', 'CLUSTERDOWN', 'TRYAGAIN'],
    remedy:
      'for a cluster give redis({ client }) a client of createCluster(), and repair the cluster',
  },
  {
    codes: ['LOADING', 'BUSY'],
    remedy: 'wait; if it lasts, look what the server does',
  },
  {
    codes: ['MISCONF'],
    remedy: 'free space where the server saves, or read its log',
  },
  {
    codes: ['WRONGTYPE', 'ERR the value is no number'],
    remedy: 'give wide-cache a database number of its own in the URL',
  },
]

/** The remedy of a reply, if it has one. */
export function remedyOf(reply: string): string | undefined {
  return SAID.find(({ codes }) => codes.some((code) => begins(reply, code)))?.remedy
}

/** Whether the reply, or that of the command in a script (Redis 6), begins with these words. */
export function begins(reply: string, words: string): boolean {
  return `${reply} `.startsWith(`${words} `) || `${reply} `.includes(` -${words} `)
}
