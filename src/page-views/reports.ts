/**
 * Passes reported views on to hits, which count them beside the activity that takes the reports.
 * Hits register a function for each request, before it is known to bring a report.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Received } from './handler.js'

/** Counts the view of a report, which has been answered. */
export type Report = (view: Received, res: ServerResponse) => void

const waiting = new WeakMap<IncomingMessage, Set<Report>>()

/** Has `count` called, once, if a request turns out to bring a report. */
export function whenReported(req: IncomingMessage, count: Report): void {
  const counts = waiting.get(req)
  if (counts) counts.add(count)
  else waiting.set(req, new Set([count]))
}

/** Hands on the view that `req` has reported. */
export function reported(req: IncomingMessage, view: Received, res: ServerResponse): void {
  for (const count of waiting.get(req) ?? []) count(view, res)
}
