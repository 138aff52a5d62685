/** The charts of all results, each beside its result. Those of earlier versions have none. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { svg } from '../harness/chart.js'
import { FULL, parse, RESULTS } from '../harness/result.js'

/** `file`: from the root of the project. */
export function drawn() {
  return ['', FULL].flatMap((folder) =>
    readdirSync(new URL(folder, RESULTS))
      .filter((name) => name.endsWith('.json'))
      .flatMap((name) => {
        const { chart } = parse(readFileSync(new URL(folder + name, RESULTS), 'utf8'))
        if (!chart) return []
        const file = folder + name.replace(/json$/, 'svg')
        const url = new URL(file, RESULTS)
        return [
          {
            file: `bench/results/${file}`,
            url,
            is: existsSync(url) ? readFileSync(url, 'utf8') : undefined,
            shouldBe: svg(chart),
          },
        ]
      }),
  )
}
