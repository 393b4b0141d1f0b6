// §4.9 in a browser: the decision as one types is the service's own, and an estimate becomes a plan with one click.
import { expect, test } from 'vitest'
import { faults, withConsole } from './checks.ts'
import { seedOwner } from './seed.ts'

withConsole((scene) => {
  async function planner() {
    const { cookie } = await seedOwner(scene().db())
    const visit = await scene().visit('/cache-planner', { cookie })
    return { visit, page: visit.page, decision: visit.page.locator('.decision') }
  }

  test('§4.9 typing moves the decision; a tie recomputes; what is no number asks nothing', async () => {
    const { visit, page, decision } = await planner()
    await decision.getByText('Fetch from host_ram.').waitFor()
    await decision.getByText('saves 155 ms (86%)').waitFor()
    await page.getByLabel('Transfer of host_ram, in ms').fill('300')
    await decision.getByText('Fetch from local_nvme.').waitFor()
    await page.getByLabel('Recompute', { exact: true }).fill('96.2') // local_nvme's total: equal is not faster
    await decision.getByText('Recompute.').waitFor()
    await page.getByText('saves nothing').waitFor()

    const asked: string[] = []
    page.on('request', (request) => void (request.url().includes('hicache-plan') && asked.push(request.url())))
    await page.getByLabel('Recompute', { exact: true }).fill('many')
    await decision.getByText('Every cost is a number of milliseconds').waitFor()
    expect(asked).toEqual([])
    await page.getByLabel('Recompute', { exact: true }).fill('500')
    await page.getByRole('button', { name: 'Add tier' }).click()
    await page.getByLabel('Name of the tier').last().fill("peer's ram")
    await decision.getByText("Fetch from peer's ram.").waitFor()
    await page.getByRole('button', { name: "Remove peer's ram" }).click()
    await decision.getByText('Fetch from local_nvme.').waitFor()
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('§4.9 the request as curl is the one that was decided on', async () => {
    const { visit, page, decision } = await planner()
    await decision.getByText('Fetch from host_ram.').waitFor()
    await page.getByText('The same as a request').first().click()
    const code = (await page.getByLabel('plan as curl').locator('code').textContent()) ?? ''
    const [, body = ''] = /-d '([^']*)'$/.exec(code) ?? []
    expect(JSON.parse(body)).toEqual({
      expected_recompute_ms: 180,
      tiers: [
        { name: 'host_ram', lookup_ms: 0.4, transfer_ms: 22, decompression_ms: 0, queue_delay_ms: 3 },
        { name: 'local_nvme', lookup_ms: 1.2, transfer_ms: 74, decompression_ms: 12, queue_delay_ms: 9 },
        { name: 'remote_object', lookup_ms: 8, transfer_ms: 160, decompression_ms: 24, queue_delay_ms: 40 },
      ],
    })
    await visit.close()
  })

  test('§4.9 an estimate draws where fetching begins to win, load moves it, and one click makes it the plan', async () => {
    const { visit, page, decision } = await planner()
    const chart = page.getByRole('figure', { name: 'Recompute and fetch, by length of the prefix' })
    await chart.getByText('wins from 21,376 tokens on').waitFor()
    await expect.poll(() => chart.locator('.curves-mark').count()).toBeGreaterThan(0)
    await page.getByLabel('How busy the tiers are').fill('60')
    await chart.getByText('wins from 50,752 tokens on').waitFor()
    await page.getByLabel('Prefix', { exact: true }).fill('32768')
    await page.getByText('32,768 tokens are 4.29 GB of cache.').waitFor()
    await page.getByLabel('local_nvme', { exact: true }).uncheck()
    await chart.getByText('local_nvme').first().waitFor({ state: 'detached' })

    const taken = page.getByRole('button', { name: 'Use these costs in the plan' })
    await taken.click()
    await page.getByText('The plan has the estimated costs now.').waitFor()
    await decision.getByText('Fetch from host_ram.').waitFor()
    const names = page.getByLabel('Name of the tier')
    expect(await names.evaluateAll((all) => all.map((one) => (one as HTMLInputElement).value))).toEqual([
      'host_ram',
      'remote',
      'remote_3fs',
    ])
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('§7 what the service refuses stands beside its field, and a failing service is said so', async () => {
    const { visit, page, decision } = await planner()
    await page.getByLabel('GPU', { exact: true }).selectOption('a100_sxm')
    await page.getByLabel('Weights').selectOption('fp8')
    await page.getByText('a100_sxm has no fp8').waitFor()
    await page.getByLabel('GPUs').fill('5000')
    await page.getByText('Must be').first().waitFor()
    await page.route('**/hicache-plan', (route) => route.abort())
    await page.getByLabel('Recompute', { exact: true }).fill('200')
    await page.getByRole('alert').getByText('The server cannot be reached').waitFor()
    await decision.getByText('Weighing').waitFor()
    await visit.close()
  })
})
