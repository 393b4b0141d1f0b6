// The reference page in a real browser: readable by everybody, quiet under its policy, and its filter finds things.
import { expect, test } from 'vitest'
import { faults, overflow, violations, withConsole } from './checks.ts'

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
    await visit.page.goto('/docs')
    expect(await violations(visit.page)).toEqual([])
    await visit.close()

    const plain = await scene().arrive({ javaScriptEnabled: false })
    await plain.page.goto('/docs')
    await plain.page.getByRole('heading', { name: 'Create an API key' }).waitFor()
    expect(await plain.page.locator('.filter').isVisible()).toBe(false) // it would do nothing
    await plain.close()
  })
})
