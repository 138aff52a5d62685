/** What is kept of the cost of a fault: a sample for each site. */
import { neutral } from '../harness/samples.js'

export const LOST = neutral('ms of traffic lost')
export const TWICE = neutral('ms of traffic twice')
export const CAUGHT_UP = neutral('s until caught up')
