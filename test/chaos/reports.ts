/** A web server of a site, and the browsers that report views to it. */
import { createServer, request, type Server } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { Activity } from '../../src/index.js'
import type { TruthKeeper } from './truth.js'

const BROWSERS = 97

export class Reports {
  readonly #life: string
  readonly #truth: TruthKeeper
  readonly #now: () => number
  readonly #server: Server
  readonly #listening: Promise<unknown>
  readonly #underWay = new Set<Promise<void>>()

  /** @param now a clock that is right */
  constructor(activity: Activity, life: string, truth: TruthKeeper, now: () => number) {
    this.#life = life
    this.#truth = truth
    this.#now = now
    this.#server = createServer(activity.router({ mountPath: '/activity' }))
    // A process may stand still for minutes with a request under way.
    Object.assign(this.#server, { requestTimeout: 0, headersTimeout: 0 })
    this.#listening = once(this.#server.listen(0, '127.0.0.1'), 'listening')
  }

  /** Sends a report. One that is not taken ends the process, which has failed then. */
  send(): void {
    const sent = this.#send()
    this.#underWay.add(sent)
    void sent.then(() => this.#underWay.delete(sent))
  }

  /** Waits until all reports are answered: with that they have been recorded. */
  async end(): Promise<void> {
    await Promise.all([this.#listening, ...this.#underWay])
    this.#server.close()
  }

  async #send(): Promise<void> {
    await this.#listening
    const number = this.#truth.report(this.#now())
    const posted = request({
      host: '127.0.0.1',
      port: (this.#server.address() as AddressInfo).port,
      path: '/activity/seen',
      method: 'POST',
      // One that is kept may be closed just when it is used again.
      agent: false,
      headers: {
        'Content-Type': 'application/json',
        'Sec-Fetch-Site': 'same-origin',
        'User-Agent': `Mozilla/5.0 (X11; Linux x86_64) Chrome/${number % BROWSERS}.0 Safari/537.36`,
      },
    })
    posted.end(JSON.stringify({ page: `/${this.#life}/${number}`, referrer: '' }))
    const [answer] = await once(posted, 'response')
    answer.resume()
    if (answer.statusCode !== 204) throw new Error(`a report got ${answer.statusCode}`)
    this.#truth.answered(number, this.#now())
  }
}
