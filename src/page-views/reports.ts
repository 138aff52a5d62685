/**
 * Passes reported views on to hits, which count them beside the activity that takes the reports.
 * Hits register a function for each request, before it is known to bring a report.
 */
import type { ServerResponse } from 'node:http'
import type { Received, ServerRequest } from './handler.js'

/** Counts the view of a report, which has been answered. */
export type Report = (view: Received, res: ServerResponse) => void

const waiting = new WeakMap<ServerRequest, Set<Report>>()

/** Has `count` called, once, if a request turns out to bring a report. */
export function whenReported(req: ServerRequest, count: Report): void {
  const counts = waiting.get(req)
  if (counts) counts.add(count)
  else waiting.set(req, new Set([count]))
}

/** Hands on the view that `req` has reported. */
export function reported(req: ServerRequest, view: Received, res: ServerResponse): void {
  for (const count of waiting.get(req) ?? []) count(view, res)
}
