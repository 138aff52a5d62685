/** `npm run options`: brings the options of each class into `docs/options.md`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { render } from './options.js'

const page = new URL('../../docs/options.md', import.meta.url)
writeFileSync(page, render(readFileSync(page, 'utf8')))
