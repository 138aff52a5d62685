// Not by its name: bundles often declare a `createRequire` of their own.
import modules from 'node:module'
import type { RouterOptions } from 'express'
import type { Router } from './express.js'

/**
 * A router of the site's Express, which is loaded with the first one: collectors and commands have
 * none, and Express takes a third of the time in which the package is loaded with it.
 */
export function newRouter(options?: RouterOptions): Router {
  const express: typeof import('express') = modules.createRequire(import.meta.url)('express')
  return express.Router(options)
}
