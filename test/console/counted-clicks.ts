// What a hand does for one job: each click is counted, and how long all of it took is said.
import type { Locator, Page } from 'playwright-core'
import { expect } from 'vitest'

export function work(page: Page, what: string) {
  const started = performance.now()
  let clicks = 0
  return {
    async click(on: Locator, how?: Parameters<Locator['click']>[0]): Promise<void> {
      clicks++
      await on.click(how)
    },
    /** A list is opened and something picked: two clicks. */
    async choose(on: Locator, label: string): Promise<void> {
      clicks += 2
      await on.selectOption(label)
    },
    /** At most so many clicks. */
    done(most: number): Page {
      const seconds = ((performance.now() - started) / 1_000).toFixed(1)
      process.stdout.write(`${what}: ${clicks} clicks, ${seconds} s\n`)
      expect(clicks, what).toBeLessThanOrEqual(most)
      return page
    },
  }
}
