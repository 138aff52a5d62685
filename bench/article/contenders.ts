/** Ways to keep the activity of a site, and what the article that began all measured of them. */
import { EVERY_THREE_SECONDS } from '../harness/collecting.js'
import { GET_AND_SET, WIDE_CACHE as OURS } from '../loss/batches.js'

export interface Contender {
  readonly label: string
  /** The name of a file in `bench/peers/`: what runs in the site's process. */
  readonly peer: string
  /** Of `createActivity()`. */
  readonly collect?: string
  /** Another file there: what a process of its own does. */
  readonly worker?: string
  /** Its label in the part `loss`, which writes as the article did: by several processes. */
  readonly asArticle?: string
  readonly inArticle?: { readonly throughput: number; readonly lost?: string }
}

const inArticle = (label: string, peer: string, throughput: number): Contender => ({
  label,
  peer,
  inArticle: { throughput },
})

export const NONE = inArticle('no activity', 'nothing', 40.2)
export const WIDE_CACHE: Contender = {
  label: 'wide-cache',
  peer: 'wide-cache',
  collect: EVERY_THREE_SECONDS,
  asArticle: OURS.label,
}
export const CONTENDERS: readonly Contender[] = [
  NONE,
  inArticle('an `INSERT` before the response', 'insert-before-response', 27.4),
  inArticle('a process for each visit', 'process-per-visit', 13),
  {
    label: "get and set of an array: the article's wide cache",
    peer: 'get-and-set',
    worker: 'get-and-set',
    asArticle: GET_AND_SET.label,
    inArticle: { throughput: 36.7, lost: '350 of 6,800' },
  },
  WIDE_CACHE,
  { label: "the web server's log, read every 10 s", peer: 'nothing', worker: 'web-server-log' },
]

/** Requests that are no page view of a person, each as the header and method that say so. */
export const OTHERS: readonly RequestInit[] = [
  { headers: { 'user-agent': 'Mozilla/5.0 (compatible; Googlebot/2.1)', accept: 'text/html' } },
  { headers: { 'sec-purpose': 'prefetch', accept: 'text/html' } },
  { headers: { 'sec-fetch-dest': 'empty', 'sec-fetch-mode': 'cors', accept: '*/*' } },
  { method: 'HEAD', headers: { accept: 'text/html' } },
]
