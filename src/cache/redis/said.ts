/** What Redis and Valkey can say. The message of each CACHE_REFUSED ends with the remedy. */
import type { Said } from '../../support/said.js'

/** By the words that a reply begins with. A script's reply may have them after ` -`. */
export const SAID: readonly Said[] = [
  {
    codes: ['WRONGPASS', 'NOAUTH', 'ERR AUTH', 'ERR invalid password'],
    cause: 'The user name or the password is wrong or missing',
    remedy: 'check user and password in the URL',
  },
  {
    codes: ['NOPERM'],
    cause: 'The user has no right to a command or a key',
    remedy:
      'grant the user get, set, del, eval, exists, strlen and append on all keys (ACL SETUSER); ' +
      'for wide-cache doctor also info and config',
  },
  {
    codes: ['DENIED'],
    cause: 'The server is in protected mode, and takes connections of its own host only',
    remedy: 'give the server a password',
  },
  {
    codes: ['ERR DB index'],
    cause: 'The server has no database of this number',
    remedy: 'correct the number at the end of the URL, or raise databases at the server',
  },
  {
    codes: ['ERR max number of clients'],
    cause: 'The server has no connection left',
    remedy: 'raise maxclients at the server, or find out who opens so many',
  },
  {
    codes: ['ERR unknown command', 'ERR unknown subcommand'],
    cause: 'The server, or a proxy, does not have the command',
    remedy: 'use Redis 6.0 or later, or Valkey, and rename no command there',
  },
  {
    codes: ['OOM'],
    cause: 'The server has reached maxmemory. Frames go to SQL directly',
    remedy: 'raise maxmemory at the server',
  },
  {
    codes: ['READONLY', 'MASTERDOWN', 'NOREPLICAS'],
    cause: 'The server is a replica, or has too few of them',
    remedy: 'name the primary, or end the failover',
  },
  {
    codes: ['MOVED', 'ASK', 'CROSSSLOT', 'CLUSTERDOWN', 'TRYAGAIN'],
    cause: 'The server belongs to a cluster, or the cluster is down',
    remedy:
      'for a cluster give redis({ client }) a client of createCluster(), and repair the cluster',
  },
  {
    codes: ['LOADING', 'BUSY'],
    cause: 'The server loads its data, or runs a script that takes long',
    remedy: 'wait; if it lasts, look what the server does',
  },
  {
    codes: ['MISCONF'],
    cause: 'The server cannot save its data, and stores nothing until it can',
    remedy: 'free space where the server saves, or read its log',
  },
  {
    codes: ['WRONGTYPE', 'ERR the value is no number'],
    cause: 'Another program has stored the key',
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
