/** `npm run cost`: measures the cost again, and writes the budget and its table in the docs. */
import { readFileSync, writeFileSync } from 'node:fs'
import { compare, PAGE, readBudget, render, writeBudget } from './budget.js'
import { measuredAll } from './situations.js'

const budget = await measuredAll()
const { more, less } = compare(budget, readBudget())
for (const line of [...more, ...less]) console.log(line)
writeBudget(budget)
writeFileSync(PAGE, render(readFileSync(PAGE, 'utf8'), budget))
