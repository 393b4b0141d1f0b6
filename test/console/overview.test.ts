// The overview in a browser: what it says is what was used, it moves by itself, and it holds up where answers fail.
import { expect, test } from 'vitest'
import { rfc3339, systemClock } from '../../src/core/clock.ts'
import { usageStore } from '../../src/usage/usage-store.ts'
import { usageEvent } from '../support/usage-events.ts'
import { faults, untilByItself, withConsole } from './checks.ts'
import { seedKeys, seedOwner } from './seed.ts'
import { seedRefusals, seedTraffic } from './traffic.ts'

const HOURS_MS = 3_600_000

withConsole((scene) => {
  const minutesAgo = (minutes: number) => rfc3339(systemClock.now() - minutes * 60_000)

  async function generate(project_id: string, more: Parameters<typeof usageEvent>[1]) {
    await usageStore(scene().db()).insert(usageEvent(project_id, more))
  }

  test('§8.2.3 requests, money, errors and latency of a period, beside the one before; then live', async () => {
    const { cookie, project_id } = await seedOwner(scene().db())
    const costs = { charged_micros: 2_000_000, direct_cost_micros: 3_000_000, savings_micros: 1_000_000 }
    for (const minutes of [5, 4, 3]) await generate(project_id, { ...costs, created_at: minutesAgo(minutes) })
    await generate(project_id, { ...costs, created_at: minutesAgo(2), status: 'failed' })
    for (const minutes of [65, 66]) await generate(project_id, { ...costs, created_at: minutesAgo(minutes) })
    const visit = await scene().arrive({ cookie })
    const { page } = visit
    await page.clock.install()
    await page.goto('/console/overview?range=1h')
    const headline = page.locator('.headline')
    await headline.getByText('$8.00').waitFor()
    const text = (await headline.textContent()) ?? ''
    for (const told of [
      'Requests4+100% on 2',
      'Spend$8.00+100% on $4.00',
      'Saved$4.0033.3% of',
      'Failed25%0% before',
      '210 ms',
    ])
      expect(text).toContain(told)

    await generate(project_id, { ...costs, created_at: minutesAgo(0) })
    await untilByItself(page, headline.getByText('$10.00'))
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('§7 §8.1 what was refused is told layer by layer, and what failed by how it ended', async () => {
    const { cookie, project_id } = await seedOwner(scene().db())
    await seedTraffic(scene().db(), project_id, ['key_1'], 2)
    await seedRefusals(scene().db(), project_id, 2)
    const visit = await scene().visit('/overview', { cookie })
    const { page } = visit
    const table = page.getByRole('table', { name: 'Refused and failed, by layer' })
    await table.getByText('Key rate limit').waitFor()
    await table.getByText('It might have cost more than the key or the project has left.').waitFor()
    await table.getByText('No target gave any content; nothing was charged.').waitFor()
    const chart = page.getByRole('figure', { name: 'Refused, by the hour' })
    await chart.getByText('rates and capacity').waitFor()
    await visit.close()
  })

  test('§console what needs attention comes first, and leads to where it can be mended', async () => {
    const { cookie, project_id } = await seedOwner(scene().db())
    const spent = { spent_micros: 9_600_000, budget_micros: 10_000_000 }
    await seedKeys(
      scene().db(),
      project_id,
      Array.from({ length: 8 }, (_, at) => ({ name: `agent-${at}`, ...spent })),
    )
    const visit = await scene().visit('/overview', { cookie })
    const { page } = visit
    await page.getByText('has used 96% of its limit; $0.40 is left.').first().waitFor()
    await expect.poll(() => page.locator('.attention li').count()).toBe(5)
    await page.getByRole('button', { name: 'Show 3 more' }).click()
    await expect.poll(() => page.locator('.attention li').count()).toBe(8)
    await page.getByRole('link', { name: 'Open agent-7' }).click()
    await page.getByRole('heading', { name: 'agent-7' }).waitFor()
    await visit.close()
  })

  test('§console before there is anything, it says so and leads to the first steps', async () => {
    const { cookie } = await seedOwner(scene().db())
    const visit = await scene().visit('/overview', { cookie })
    const { page } = visit
    await page.getByText('Nothing needs attention.').waitFor()
    await page.getByText('Nothing was refused and nothing failed in the last 24 hours.').waitFor()
    const insets = () =>
      page
        .locator('#content .card')
        .evaluateAll((cards) => new Set(cards.map((card) => getComputedStyle(card).paddingLeft)).size)
    await expect.poll(insets).toBe(1) // once the last has been loaded
    await page.locator('#content').getByRole('link', { name: 'Get started' }).click()
    await page.getByRole('heading', { name: 'Get started' }).waitFor()
    await visit.close()
  })

  test('§console charts can be read and opened without a mouse', async () => {
    const { cookie, project_id } = await seedOwner(scene().db())
    await generate(project_id, { created_at: minutesAgo(1) })
    await generate(project_id, { created_at: rfc3339(systemClock.now() - 3 * HOURS_MS), resolved_model: 'old-one' })
    const visit = await scene().visit('/overview', { cookie })
    const { page } = visit
    const chart = page.getByRole('figure', { name: 'Requests' })
    const slider = chart.getByRole('slider')
    await slider.focus()
    await page.keyboard.press('End')
    for (let step = 0; step < 3; step++) await page.keyboard.press('ArrowLeft')
    await expect.poll(() => slider.getAttribute('aria-valuetext')).toMatch(/ UTC: completed 1, failed 0$/)
    await page.keyboard.press('Enter')
    const requests = page.getByRole('table', { name: 'Requests', exact: true })
    await requests.getByText('old-one').waitFor()
    await expect.poll(() => requests.getByRole('row').count()).toBe(2)
    await page.goBack()
    await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor() // what is left has such a chart too
    await chart.getByText('As a table').click()
    await expect.poll(() => chart.getByRole('row').count()).toBe(25)
    await slider.focus()
    await page.keyboard.press('End')
    for (let step = 0; step < 2; step++) await page.keyboard.press('Shift+ArrowLeft')
    await expect.poll(() => slider.getAttribute('aria-valuetext')).toMatch(/3 selected$/)
    await page.keyboard.press('Enter')
    await page.getByText(/^Only .* UTC\.$/).waitFor()
    expect(new URL(page.url()).searchParams.get('range')).toBe('custom')
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('§console the pointer tells values where it is; dragging zooms, into the address; the growing step is told', async () => {
    const { cookie, project_id } = await seedOwner(scene().db())
    const minutes = new Set<number>()
    /** The minute that grows has one, whichever it is by now: the page asks again every ten seconds. */
    const fillThisMinute = async () => {
      const minute = Math.floor(systemClock.now() / 60_000) * 60_000
      if (minutes.has(minute)) return
      minutes.add(minute)
      await generate(project_id, { created_at: rfc3339(minute) })
    }
    await fillThisMinute()
    await generate(project_id, { created_at: minutesAgo(20), status: 'client_left' })
    const visit = await scene().visit('/overview?range=1h', { cookie })
    const { page } = visit
    const plot = page.getByRole('figure', { name: 'Requests' }).getByRole('slider')
    await plot.waitFor()
    const box = await plot.boundingBox()
    if (!box) throw new Error('nothing is drawn')
    const at = (share: number) => [box.x + box.width * share, box.y + box.height / 2] as const
    await page.mouse.move(...at(0.995))
    const tip = plot.locator('.plot-tip')
    await tip.getByText('so far').waitFor()
    const told = async () => {
      await fillThisMinute()
      return tip.textContent()
    }
    await expect.poll(told, { timeout: 30_000 }).toMatch(/UTC.*completed1 client left0 failed0all1/)
    await page.mouse.move(...at(0.4))
    await page.mouse.down()
    await page.mouse.move(...at(0.6), { steps: 4 })
    await tip.getByText('Let go to zoom in').waitFor()
    await page.mouse.up()
    await page.getByText(/^Only .* UTC\.$/).waitFor()
    const { searchParams } = new URL(page.url())
    const zoomed = Date.parse(searchParams.get('to') ?? '') - Date.parse(searchParams.get('from') ?? '')
    expect(zoomed / 60_000).toBeGreaterThanOrEqual(11)
    expect(zoomed / 60_000).toBeLessThanOrEqual(14)
    await page.getByRole('button', { name: 'Show the last 24 hours' }).click()
    await page
      .locator('.headline')
      .getByText(String(minutes.size + 1), { exact: true })
      .first()
      .waitFor()
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('§7 one answer that fails takes nothing else with it; what was known stays, marked as old', async () => {
    const { cookie, project_id } = await seedOwner(scene().db())
    await generate(project_id, { created_at: minutesAgo(1) })
    const visit = await scene().visit('/start', { cookie })
    const { page } = visit
    const failing = { status: 503, json: { error: { message: 'The store does not answer.', type: 'server_error' } } }
    await page.route('**/v2/refusals?*', (route) => route.fulfill(failing))
    await page.route('**/v2/attention', (route) => route.fulfill(failing))
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByText('Refusals could not be loaded. The store does not answer.').waitFor()
    await page.getByText('What needs attention could not be loaded.').waitFor()
    await page.getByRole('figure', { name: 'Requests' }).waitFor()
    await page.unroute('**/v2/refusals?*')
    await page.route('**/v2/usage/timeline?*', (route) => route.fulfill(failing))
    await page.keyboard.press('r')
    await page.getByText('This may be out of date. The store does not answer.').waitFor()
    await page.getByText('Not live:').waitFor()
    await page.getByRole('figure', { name: 'Requests' }).waitFor()
    await page.getByText('Nothing was refused and nothing failed').waitFor()
    await visit.close()
  })
})
