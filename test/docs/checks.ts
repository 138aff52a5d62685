/** Checks of the blocks of each language. */
import type { Browser } from 'playwright-core'
import type { Block } from './blocks.js'
import { checkCommands } from './commands.js'
import { show } from './page.js'
import { placesOf, run } from './program.js'
import { runStatements } from './statements.js'
import { compile } from './types.js'
import { checkDockerfile, checkUnit } from './units.js'

export interface Check {
  readonly title: string
  /** Rejects with what is wrong with the block. */
  run(): Promise<void>
}

const BY_LANGUAGE: {
  readonly [language: string]: (block: Block, browser: () => Promise<Browser>) => Check[]
} = {
  js: (block) =>
    placesOf(block).map((place) => ({ title: `runs on ${place}`, run: () => run(block, place) })),
  ts: (block) => [{ title: 'compiles', run: () => compile(block) }],
  html: (block, browser) =>
    placesOf(block.continues ?? block).map((place) => ({
      title: `works on ${place}`,
      run: async () => show(block, place, await browser()),
    })),
  sql: (block) =>
    (['SQLite', 'MariaDB'] as const).map((dialect) => ({
      title: `runs on ${dialect}`,
      run: () => runStatements(block.text, dialect),
    })),
  sh: (block) => [{ title: 'has commands that exist', run: async () => checkCommands(block.text) }],
  json: (block) => [{ title: 'is JSON', run: async () => void JSON.parse(block.text) }],
  ini: (block) => [{ title: 'is a unit of systemd', run: () => checkUnit(block.text) }],
  dockerfile: (block) => [
    { title: 'is a Dockerfile', run: async () => checkDockerfile(block.text) },
  ],
  // test/page-views/proxies.test.ts runs a site behind each.
  nginx: () => [],
  apache: () => [],
  caddyfile: () => [],
  // Drawings, and what programs print.
  text: () => [],
}

/** Returns the checks of a block. In a language that has none, it returns one that fails. */
export function checksOf(block: Block, browser: () => Promise<Browser>): Check[] {
  const checks = BY_LANGUAGE[block.language]
  if (checks) return checks(block, browser)
  const unknown = new Error(
    `no test knows how to check "${block.language}"; there are ` +
      `${Object.keys(BY_LANGUAGE).join(', ')}`,
  )
  return [{ title: 'is checked', run: () => Promise.reject(unknown) }]
}
