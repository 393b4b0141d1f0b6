// What must hold on every page: nothing that keeps people out, nothing wider than the screen, no secret left behind.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type axe from 'axe-core'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect } from 'vitest'
import { type ConsoleScene, consoleScene, type Visit } from './console-scene.ts'

/** One server and one browser for a suite; `settings` are the server's, where they are not those of an empty machine. */
export function withConsole(
  suite: (scene: () => ConsoleScene) => void,
  settings: () => Promise<Readonly<Record<string, string>>> = async () => ({}),
): void {
  let scene: ConsoleScene
  beforeAll(async () => {
    scene = await consoleScene(await settings())
  })
  afterAll(() => scene?.stop())
  suite(() => scene)
}

/** Without what only people read: a page takes half as long to load it. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** What axe calls worse than minor, with where it is; targets that are too small for a finger among it. */
export async function violations(
  page: Page,
  within: Locator = page.locator('html'),
  left_out: readonly string[] = [],
): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(AXE)
  const rules = {
    'target-size': { enabled: true },
    ...Object.fromEntries(left_out.map((rule) => [rule, { enabled: false }])),
  }
  const found = await within.evaluate(
    (element, rules) =>
      (window as unknown as { axe: typeof axe }).axe.run(element === document.documentElement ? document : element, {
        resultTypes: ['violations'],
        preload: false, // of style sheets and media, for rules that are not asked here
        rules,
      }),
    rules,
  )
  return found.violations
    .filter(({ impact }) => impact !== 'minor')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`)
}

/**
 * Waits for what a page shows by itself, with its clock moved on: it rests fifty times as long as its last answer took,
 * which on a busy machine nobody can wait for. Of a visit whose clock was installed before its page set a timer.
 */
export const untilByItself = (page: Page, shown: Locator) =>
  expect
    .poll(
      async () => {
        await page.clock.fastForward(10_000)
        return shown.first().isVisible()
      },
      { interval: 500, timeout: 60_000 },
    )
    .toBe(true)

/** By how many pixels the page is wider than the screen. */
export const overflow = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)

/** Where a secret can still be found: in the page, its storage, its address, what it logged, or its memory. */
export async function tracesOf(secret: string, { page, heard }: Visit): Promise<string[]> {
  const places = await page.evaluate(() => ({
    page: document.documentElement.outerHTML,
    inputs: [...document.querySelectorAll('input, textarea')].map((one) => (one as HTMLInputElement).value).join(),
    storage: JSON.stringify([{ ...localStorage }, { ...sessionStorage }]),
    cookies: document.cookie,
    address: location.href + JSON.stringify(history.state),
    requests: performance
      .getEntries()
      .map(({ name }) => name)
      .join(),
  }))
  const texts = { ...places, log: heard.join('\n'), memory: await heapOf(page) }
  return Object.entries(texts)
    .filter(([, text]) => text.includes(secret))
    .map(([place]) => place)
}

/** Every string that the page's JavaScript can still reach. */
async function heapOf(page: Page): Promise<string> {
  const session = await page.context().newCDPSession(page)
  const chunks: string[] = []
  session.on('HeapProfiler.addHeapSnapshotChunk', ({ chunk }) => void chunks.push(chunk))
  await session.send('HeapProfiler.collectGarbage')
  await session.send('HeapProfiler.takeHeapSnapshot', {})
  await session.detach()
  return chunks.join('')
}

/** What the browser itself says of an answer that was not 2xx is no fault of the page. */
export const faults = ({ heard }: Visit) =>
  heard.filter((line) => /^(error|warning|thrown)/.test(line) && !line.includes('Failed to load resource'))
