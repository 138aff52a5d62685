/** Numbers that bound an amount are set to 3 by a law, or it is said why not. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { importedBy } from '../needs.js'
import { isSource } from '../sources.js'
import { OTHERS } from './others.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const NUMBER = /^(?:export )?const ([A-Z][A-Z0-9_]*) = [\d_* ]+$/gm
/** Times, sizes and ports, by their names, and amounts whose names say what of. */
const NO_AMOUNT = /(?:^|_)(?:MS|SECONDS?|BYTES|DAYS?|HOURS?|PORT|UNIT)(?:_|$)/
const AMOUNT = /_A_(?:PIECE|CALL|CLOSING)$|^VALUES_A_DAY$/

const bounds = JSON.parse(readFileSync(join(ROOT, 'test/bounds/bounds.json'), 'utf8')) as Readonly<
  Record<string, Readonly<Record<string, number>>>
>

/** Each as `file NAME`. The loader changes TypeScript only. */
function amounts(): string[] {
  const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  return files
    .filter((file) => isSource(file) && file.endsWith('.ts') && !file.startsWith('testing/'))
    .flatMap((file) =>
      Array.from(readFileSync(join(ROOT, 'src', file), 'utf8').matchAll(NUMBER), ([, name = '']) =>
        NO_AMOUNT.test(name) && !AMOUNT.test(name) ? [] : `${file} ${name}`,
      ).flat(),
    )
}

test('every number that bounds an amount has a law at 3, or a reason why not', () => {
  const atThree = Object.entries(bounds).flatMap(([file, names]) =>
    Object.keys(names).map((name) => `${file.replace('src/', '')} ${name}`),
  )
  const others = Object.values(OTHERS).flat()
  const found = amounts()
  assert(found.includes('activity/folding.ts KEPT_VALUES'), 'the numbers are found')
  const isKnown = (one: string): boolean =>
    atThree.includes(one) || others.includes(one) || others.includes(one.split(' ')[0]!)
  assert.deepEqual(
    found.filter((one) => !isKnown(one)),
    [],
  )
  const stale = [...atThree, ...others].filter(
    (known) => !found.some((one) => one === known || one.startsWith(`${known} `)),
  )
  assert.deepEqual(stale, [], 'these are gone')
  assert.deepEqual(
    atThree.filter((one) => others.includes(one)),
    [],
  )
})

test('laws import each file whose numbers they set', () => {
  const imported = importedBy(['test/bounds/pieces.test.ts'])
  assert.deepEqual(
    Object.keys(bounds).filter((file) => !imported.has(file)),
    [],
  )
})
