/** A project that has installed the package, as `npm install` leaves it, and some others. */
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../servers/process.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Its folder. `express` is the name of a package of ours. */
export function newProject(express: 'express' | 'express4' = 'express'): string {
  const folder = temporaryFolder('docs')
  const modules = join(folder, 'node_modules')
  mkdirSync(join(modules, '.bin'), { recursive: true })
  symlinkSync(ROOT, join(modules, 'wide-cache'))
  symlinkSync('../wide-cache/dist/cli/main.js', join(modules, '.bin/wide-cache'))
  symlinkSync(join(ROOT, 'node_modules', express), join(modules, 'express'))
  for (const name of ['supertest', 'redis', 'fastify', 'koa', 'hono', '@hono']) {
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name))
  }
  symlinkSync(join(ROOT, 'node_modules/@types'), join(modules, '@types'))
  return folder
}
