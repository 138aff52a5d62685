import assert from 'node:assert/strict'
import { test } from 'node:test'
import crawlers from 'crawler-user-agents'
import { botOf } from './bot-names.js'

const AI = 'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; '
const OLD = 'Mozilla/5.0 (compatible; '

for (const [userAgent, name, purpose] of [
  [`${AI}GPTBot/1.2; +https://openai.com/gptbot)`, 'GPTBot', 'training'],
  [`${AI}ClaudeBot/1.0; +claudebot@anthropic.com)`, 'ClaudeBot', 'training'],
  ['CCBot/2.0 (https://commoncrawl.org/faq/)', 'CCBot', 'training'],
  [`${AI}ChatGPT-User/1.0; +https://openai.com/bot)`, 'ChatGPT-User', 'assistant'],
  [`${AI}Claude-User/1.0; +Claude-User@anthropic.com)`, 'Claude-User', 'assistant'],
  [`${AI}Perplexity-User/1.0)`, 'Perplexity-User', 'assistant'],
  ['DuckAssistBot/1.2; (+http://duckduckgo.com/duckassistbot.html)', 'DuckAssistBot', 'assistant'],
  [`${AI}OAI-SearchBot/1.0; +https://openai.com/searchbot)`, 'OAI-SearchBot', 'search'],
  [`${OLD}PerplexityBot/1.0)`, 'PerplexityBot', 'search'],
  [`${OLD}Googlebot/2.1; +http://www.google.com/bot.html)`, 'Googlebot', 'search'],
  [`${OLD}bingbot/2.0; +http://www.bing.com/bingbot.htm)`, 'bingbot', 'search'],
  [`${OLD}UptimeRobot/2.0; http://www.uptimerobot.com/)`, 'UptimeRobot', 'monitoring'],
  [`${OLD}Linux x86_64; Mail.RU_Bot/2.0)`, 'Mail.RU_Bot', 'search'],
  ['Mediapartners (Googlebot)', 'Mediapartners Googlebot', 'other'],
  ['curl/8.5.0', 'curl', 'other'],
  ['Wget/1.21', 'Wget', 'other'],
  ['facebookexternalhit/1.1', 'facebookexternalhit', 'other'],
  ['Mozilla/5.0 (X11) HeadlessChrome/120.0 Safari/537.36', 'HeadlessChrome', 'other'],
  ['python-requests/2.31 (compatible; GPTBot/1.0)', 'GPTBot', 'training'],
  ['HeadlessChrome/120.0 Chrome-Lighthouse', 'Chrome-Lighthouse', 'monitoring'],
  ['MyOwnCrawler/3.1 (+https://example.org)', 'MyOwnCrawler', 'other'],
  [`${OLD}Fooer/1.0)`, 'Fooer', 'other'],
  [`X-${'x'.repeat(500)}bot/1.0`, `X-${'x'.repeat(38)}`, 'other'],
  ['Mozilla/5.0', undefined, 'other'],
  ['', undefined, 'other'],
] as const) {
  test(`${userAgent.slice(0, 70)}: ${name}, ${purpose}`, () => {
    const bot = botOf(userAgent)
    assert.deepEqual([bot.name, bot.purpose], [name, purpose])
  })
}

test('each user agent of the list has a short name and a purpose', () => {
  const names = new Map<string | undefined, number>()
  for (const userAgent of crawlers.flatMap(({ instances }) => instances)) {
    const { name } = botOf(userAgent)
    names.set(name, (names.get(name) ?? 0) + 1)
    assert(name !== undefined && /^[\w.+ -]{1,40}$/.test(name), `${userAgent}: ${name}`)
  }
  assert(names.size > 1_000, `${names.size} names`)
})
