// The reference page in a real browser: readable by everybody, quiet under its policy, and its filter finds things.
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { faults, overflow, violations, withConsole } from './checks.ts'

/** Rules about how something is drawn. Of 28,000 elements they take most of the time. */
const OF_LOOKS = ['color-contrast', 'target-size', 'link-in-text-block']

/** Takes away articles that have no element of another kind, in another place, than those before. */
const withoutLikes = (page: Page) =>
  page.evaluate(() => {
    const kind = ({ tagName, className }: Element) => `${tagName}.${className}`
    const seen = new Set<string>()
    for (const article of document.querySelectorAll('article')) {
      const kinds = [...article.querySelectorAll('*')].map(
        (one) => `${kind(one.parentElement as Element)} ${kind(one)}`,
      )
      if (kinds.every((one) => seen.has(one))) article.remove()
      for (const one of kinds) seen.add(one)
    }
    return document.querySelectorAll('article').length
  })

withConsole((scene) => {
  test.each([1280, 390])(
    '§operations /docs at %i pixels: no faults, nothing too wide, the filter filters',
    async (width) => {
      const visit = await scene().arrive({ viewport: { width, height: 800 } })
      const { page } = visit
      await page.goto('/docs')
      const articles = page.locator('article:visible')
      const all = await articles.count()
      expect(all).toBeGreaterThan(80)
      expect(await overflow(page)).toBe(0)
      await page.keyboard.press('/')
      await page.keyboard.type('spending limit')
      await expect.poll(() => articles.count()).toBeLessThan(all / 4)
      await page.getByRole('link', { name: 'Set a spending limit' }).first().waitFor()
      await page.keyboard.type(' zzzz')
      await page.getByRole('status').getByText('Nothing has these words.').waitFor()
      expect(faults(visit)).toEqual([])
      await visit.close()
    },
  )

  test('§operations nothing on /docs keeps people out, without a script either', async () => {
    // The policy that the page has would keep the checker's own script out.
    const visit = await scene().arrive({ bypassCSP: true })
    const { page } = visit
    await page.goto('/docs')
    expect(await violations(page, undefined, OF_LOOKS)).toEqual([])
    // Colours and sizes are looked at once for what is drawn alike.
    const all = await page.locator('article').count()
    const left = await withoutLikes(page)
    expect([left > 3, left < all]).toEqual([true, true])
    expect(await violations(page)).toEqual([])
    await page
      .locator('article a')
      .first()
      .evaluate((link) => Object.assign(link.style, { color: '#eee' }))
    expect((await violations(page)).join()).toContain('color-contrast')
    await visit.close()

    const plain = await scene().arrive({ javaScriptEnabled: false })
    await plain.page.goto('/docs')
    await plain.page.getByRole('heading', { name: 'Create an API key' }).waitFor()
    expect(await plain.page.locator('.filter').isVisible()).toBe(false) // it would do nothing
    await plain.close()
  })
})
