// Simulated visitors, who make real requests to the forum: some people who come from somewhere,
// read a few threads and go, and a search engine's robot, which is not counted. No part of what a
// site needs.

const VISITORS_AT_ONCE = 12
const FIRST_ARRIVALS_MS = 300
const [SHORTEST_PAUSE_MS, LONGEST_PAUSE_MS] = [500, 5000]
const MOST_PAGES = 12
const TIMEOUT_MS = 10_000

const BROWSERS = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) ' +
    'Chrome/141.0.0.0 Safari/537.36',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:143.0) Gecko/20100101 Firefox/143.0',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) ' +
    'Version/18.5 Safari/605.1.15',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like ' +
    'Gecko) Version/18.5 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 ' +
    'Mobile Safari/537.36',
  'Mozilla/5.0 (Linux; Android 15; SM-X910) AppleWebKit/537.36 (KHTML, like Gecko) ' +
    'Chrome/141.0.0.0 Safari/537.36',
]
const ROBOT = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'

/** Where visitors come from; the first ones most often. */
const SOURCES = [
  { referrer: 'https://search.example/' },
  {},
  { referrer: 'https://news.example/item?id=4711' },
  {
    referrer: 'https://social.example/feed',
    query: '?utm_source=social&utm_medium=post&utm_campaign=workbench',
  },
  { query: '?utm_source=newsletter&utm_medium=email&utm_campaign=november' },
  { referrer: 'https://bicycles.example/links' },
]
/** Their countries, in the header of a CDN; the first ones most often. `XX`: it does not know. */
const COUNTRIES = ['DE', 'US', 'NL', 'FR', 'BR', 'JP', 'NG', 'IN', 'XX']
const LANGUAGES = ['de-DE,de;q=0.9,en;q=0.8', 'en-US,en;q=0.9', 'nl', 'fr-FR', 'pt-BR', 'ja']

/** Starts them; returns what stops them. */
export function startTraffic(origin, paths) {
  let stopped = false
  const pausing = new Set()
  for (let i = 0; i < VISITORS_AT_ONCE; i++) void seat(i)
  return () => {
    stopped = true
    for (const wake of pausing) wake()
  }

  /** A seat in the forum: when one visitor has gone, the next one comes. */
  async function seat(number) {
    await pause(number * FIRST_ARRIVALS_MS)
    while (!stopped) {
      const isRobot = number === 0
      await visit({
        'user-agent': isRobot ? ROBOT : oneOf(BROWSERS),
        'x-forwarded-for': address(),
        'cf-ipcountry': earlyOf(COUNTRIES),
        'accept-language': earlyOf(LANGUAGES),
        accept: 'text/html',
      })
      await pause(between(SHORTEST_PAUSE_MS, LONGEST_PAUSE_MS))
    }
  }

  async function visit(visitor) {
    let { referrer, query = '' } = earlyOf(SOURCES)
    let path = Math.random() < 0.5 ? '/' : earlyOf(paths)
    for (let pages = between(1, MOST_PAGES); pages > 0 && !stopped; pages--) {
      try {
        const response = await fetch(origin + path + query, {
          headers: referrer ? { ...visitor, referer: referrer } : visitor,
          signal: AbortSignal.timeout(TIMEOUT_MS),
        })
        await response.text()
      } catch {
        // The forum is busy or has stopped; the visitor reads on.
      }
      referrer = origin + path
      query = ''
      path = Math.random() < 0.3 ? '/' : earlyOf(paths)
      await pause(between(SHORTEST_PAUSE_MS, LONGEST_PAUSE_MS))
    }
  }

  function pause(ms) {
    return new Promise((resolve) => {
      if (stopped) return resolve()
      const wake = () => {
        clearTimeout(timer)
        pausing.delete(wake)
        resolve()
      }
      const timer = setTimeout(wake, ms)
      pausing.add(wake)
    })
  }
}

/** Of the networks that are kept for examples. */
function address() {
  return `${oneOf(['192.0.2', '198.51.100', '203.0.113'])}.${between(1, 254)}`
}

function between(least, most) {
  return least + Math.floor(Math.random() * (most - least + 1))
}

function oneOf(things) {
  return things[between(0, things.length - 1)]
}

/** One of them, the first ones more often than the last ones. */
function earlyOf(things) {
  return things[Math.floor(things.length * Math.random() ** 2)]
}
