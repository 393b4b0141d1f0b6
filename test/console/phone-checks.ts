// What a phone asks of every page: at most three screens as it opens, and nothing to tap that a finger misses.
import type { Page } from 'playwright-core'

const PHONE = { width: 390, height: 844 }
const SCREENS_MAX = 3
const TARGET_MIN_PX = 24

/** What is wrong with the page on a phone, in words. Leaves it as narrow as it was, with everything unfolded. */
export async function phoneFindings(page: Page): Promise<string[]> {
  const before = page.viewportSize() ?? PHONE
  await page.setViewportSize(PHONE)
  const screens = await page.evaluate(() => document.documentElement.scrollHeight / window.innerHeight)
  const small = await smallTargets(page)
  await page.setViewportSize(before)
  await unfold(page)
  const long = screens > SCREENS_MAX ? [`${screens.toFixed(1)} screens long`] : []
  return [...long, ...small, ...(await smallTargets(page))]
}

/** What is folded is part of the page: it is looked at too. */
async function unfold(page: Page): Promise<void> {
  const folded = page.locator('.fold-title > [aria-expanded=false]')
  for (let left = await folded.count(); left > 0; left--) await folded.first().click()
  await page.waitForLoadState('networkidle')
}

/** A link inside a sentence is as tall as its line, and may be. Who ticks or chooses may tap the words as well. */
const smallTargets = (page: Page): Promise<string[]> =>
  page.evaluate((least) => {
    const targets = 'a[href], button, input, select, textarea, summary, [role=tab], [role=slider]'
    const boxes = (one: HTMLElement) => [one, ...((one as HTMLInputElement).labels ?? [])]
    const isWide = (one: Element) => {
      const { width, height } = one.getBoundingClientRect()
      return Math.round(width) >= least && Math.round(height) >= least
    }
    const isInSentence = (one: HTMLElement) =>
      getComputedStyle(one).display.startsWith('inline') &&
      (one.parentElement?.textContent ?? '').trim() !== (one.textContent ?? '').trim()
    return [...document.querySelectorAll<HTMLElement>(targets)]
      .filter((one) => one.checkVisibility() && !boxes(one).some(isWide) && !isInSentence(one))
      .map((one) => `under ${least} px: ${one.outerHTML.slice(0, 120)}`)
  }, TARGET_MIN_PX)
