// What a page costs who opens it: time until it can be used, bytes of answers, elements drawn, the longest task that
// kept it from answering, and the same for one thing that people do there.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Locator, Page, Request } from 'playwright-core'

export interface HousePage {
  name: string
  path: string
  /** Who opens it; the owner of the project, unless it says so. */
  by?: 'operator' | 'nobody'
  /** Where this stands, the page shows what it is for. */
  shows(page: Page): Locator
  /** What people do there, and what tells that it was done. */
  act?: { name: string; run(page: Page): Promise<void>; done(page: Page): Locator }
}

export interface PageFigures {
  name: string
  usable_ms: number
  /** Bodies of the API's answers, as they went over the wire, until nothing more was asked for. */
  answer_bytes: number
  answers: number
  slowest: { path: string; ms: number; bytes: number } | undefined
  elements: number
  longest_task_ms: number
  act?: { name: string; ms: number; longest_task_ms: number; elements: number }
  /** How long the server, which runs in this process, answered nobody at most. */
  server_held_ms: number
}

const TASKS = 'switchyardTasks'
type Watched = Window & { [TASKS]?: number[] }

/** Counts tasks above 50 ms, those of before among them; what is shorter, nobody notices. */
const watchTasks = (page: Page) =>
  page.evaluate((name) => {
    const seen: number[] = []
    Object.assign(window, { [name]: seen })
    new PerformanceObserver((list) => seen.push(...list.getEntries().map(({ duration }) => duration))).observe({
      type: 'longtask',
      buffered: true,
    })
  }, TASKS)

const longestTask = (page: Page) =>
  page.evaluate(async (name) => {
    await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))
    const seen = (window as Watched)[name as typeof TASKS] ?? []
    return Math.round(Math.max(0, ...seen.splice(0)))
  }, TASKS)

const elementsOf = (page: Page) => page.evaluate(() => document.querySelectorAll('*').length)
const timeIn = (page: Page) => page.evaluate(() => performance.now())

const LOOK_MS = 10

/**
 * `page`: empty, of somebody who is signed in and whose browser has nothing in its cache. Whoever does not mind the times
 * looks less often: each look is work for the browser.
 */
export async function measurePage(
  page: Page,
  { name, path, shows, act }: HousePage,
  look_ms = LOOK_MS,
): Promise<PageFigures> {
  const asked: Request[] = []
  page.on('requestfinished', (request) => void (/\/v[12]\//.test(request.url()) && asked.push(request)))
  const held = monitorEventLoopDelay({ resolution: 5 })
  held.enable()
  await page.goto(`/console${path}`, { waitUntil: 'commit' })
  await seen(shows(page).first(), look_ms)
  const usable_ms = Math.round(await timeIn(page))
  await watchTasks(page)
  await page.waitForLoadState('networkidle')
  held.disable()
  const answers = await Promise.all(asked.map(answerOf))
  const figures: PageFigures = {
    name,
    usable_ms,
    answer_bytes: answers.reduce((sum, { bytes }) => sum + bytes, 0),
    answers: answers.length,
    slowest: answers.toSorted((a, b) => b.ms - a.ms)[0],
    elements: await elementsOf(page),
    longest_task_ms: await longestTask(page),
    server_held_ms: Math.round(held.max / 1e6),
  }
  if (act) {
    const began = await timeIn(page)
    await act.run(page)
    await seen(act.done(page).first(), look_ms)
    const ms = Math.round((await timeIn(page)) - began)
    figures.act = { name: act.name, ms, longest_task_ms: await longestTask(page), elements: await elementsOf(page) }
  }
  return figures
}

const SEEN_WITHIN_MS = 30_000

/** Looked for every few milliseconds: Playwright's own waiting looks twice a second, once it has waited for a while. */
async function seen(what: Locator, look_ms: number): Promise<void> {
  for (const begun = performance.now(); !(await what.isVisible()); await sleep(look_ms))
    if (performance.now() - begun > SEEN_WITHIN_MS) throw new Error(`nowhere to be seen: ${what}`)
}

async function answerOf(request: Request) {
  const { pathname, search } = new URL(request.url())
  const { responseEnd } = request.timing()
  const { responseBodySize } = await request.sizes()
  return { path: pathname + search, ms: Math.round(responseEnd), bytes: responseBodySize }
}

/** Of several visits of one page, what half of them do not exceed. */
export function middleOf(visits: readonly PageFigures[]): PageFigures {
  const [first] = visits
  if (!first) throw new Error('no visit')
  const middle = (of: (one: PageFigures) => number) =>
    visits.map(of).toSorted((a, b) => a - b)[Math.floor((visits.length - 1) / 2)] ?? 0
  return {
    ...first,
    usable_ms: middle(({ usable_ms }) => usable_ms),
    answer_bytes: middle(({ answer_bytes }) => answer_bytes),
    elements: middle(({ elements }) => elements),
    longest_task_ms: middle(({ longest_task_ms }) => longest_task_ms),
    server_held_ms: middle(({ server_held_ms }) => server_held_ms),
    ...(first.act && {
      act: {
        name: first.act.name,
        ms: middle(({ act }) => act?.ms ?? 0),
        longest_task_ms: middle(({ act }) => act?.longest_task_ms ?? 0),
        elements: middle(({ act }) => act?.elements ?? 0),
      },
    }),
  }
}
