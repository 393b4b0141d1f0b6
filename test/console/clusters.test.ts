// Clusters in a browser: register, start heartbeats with what the page shows, drain, deregister; and when things fail.
import { expect, test } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { createKey } from '../../src/keys/key.ts'
import { keyStore } from '../../src/keys/key-store.ts'
import { faults, untilByItself, withConsole } from './checks.ts'
import { seedOwner } from './seed.ts'
import { seedClusters, seedFleet } from './seed-fleet.ts'

withConsole((scene) => {
  /** A key as a data plane carries it. */
  async function dataPlaneKey(project_id: string): Promise<string> {
    const minted = createKey(project_id, { name: 'atlas agent', scopes: ['inference'] }, systemClock.now())
    await keyStore(scene().db()).insert(minted, systemClock.now())
    return minted.raw
  }

  /** What a shell would send, word for word. */
  function sendCurl(code: string, raw: string) {
    const [, url = ''] = /curl -sS (\S+)/.exec(code) ?? []
    const [, body = ''] = /-d '([^']*)'/.exec(code) ?? []
    const headers = { authorization: `Bearer ${raw}`, 'content-type': 'application/json' }
    return fetch(url, { method: 'POST', headers, body })
  }

  test('§4.5 §4.7 §4.8 register, send the heartbeats that the page shows, drain, deregister', async () => {
    const { cookie, project_id } = await seedOwner(scene().db())
    const raw = await dataPlaneKey(project_id)
    const visit = await scene().arrive({ cookie })
    const { page } = visit
    await page.clock.install()
    await page.goto('/console/clusters')
    await page.getByRole('heading', { name: 'No clusters yet' }).waitFor()
    await page.keyboard.press('c')
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Register cluster' }).click()
    await dialog.getByText('Must not be empty').or(dialog.getByText(/Must/)).first().waitFor()
    await dialog.getByLabel('Name').fill('atlas')
    await dialog.getByLabel('Region').fill('eu-west-1')
    await dialog.getByLabel('Endpoint').fill('https://atlas.example.com/v1')
    await dialog.getByText('Autoscaling').click()
    await dialog.getByLabel('Replicas at least').fill('9')
    await dialog.getByRole('button', { name: 'Register cluster' }).click()
    await dialog.getByText("Must not exceed 'autoscaling.max_replicas'.").waitFor()
    await dialog.getByLabel('Replicas at most').fill('12')
    await dialog.getByRole('button', { name: 'Register cluster' }).click()

    await page.getByText('Waiting for its first heartbeat').waitFor()
    const code = page.getByRole('tabpanel').locator('code')
    expect((await sendCurl((await code.textContent()) ?? '', raw)).status).toBe(200)
    await untilByItself(page, page.getByText('active', { exact: true }))
    await page.getByRole('tab', { name: 'With telemetry' }).click()
    expect((await sendCurl((await code.textContent()) ?? '', raw)).status).toBe(200)
    await page.reload()
    await page.getByRole('cell', { name: 'llama-3.3-70b' }).waitFor()
    await page.getByRole('tab', { name: 'Drain' }).click()
    await page.getByText('Only the cluster sets its status').waitFor()
    expect((await sendCurl((await code.textContent()) ?? '', raw)).status).toBe(200)
    await page.reload() // on a slow machine the page asks rarely
    await page.getByText('draining', { exact: true }).waitFor()

    await page.getByRole('button', { name: 'Deregister' }).click()
    await page.getByText('The cluster itself is not stopped').waitFor()
    const deregister = page.getByRole('button', { name: 'Deregister cluster' })
    expect(await deregister.isDisabled()).toBe(true)
    await page.getByRole('dialog').getByRole('textbox').fill('atlas')
    await deregister.click()
    await page.getByRole('heading', { name: 'No clusters yet' }).waitFor()
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('§3.1 cards tell status, heartbeat, models, load, caches and the last day', async () => {
    const { cookie, project_id } = await seedOwner(scene().db())
    await seedFleet(scene().db(), project_id)
    const visit = await scene().visit('/clusters', { cookie })
    const { page } = visit
    await page.getByText('1 active, 1 draining, 1 down, 1 registering').waitFor()
    const atlas = page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: 'atlas' }) })
    await atlas.getByText('llama-3.3-70b').waitFor()
    await atlas.getByText('and 2 more').waitFor()
    await atlas.getByText('37 / 0').waitFor()
    await atlas.getByText('KV cache in use').waitFor()
    await atlas.getByText(/Last day: active 23 h 1\d min, down 4\d min/).waitFor()
    await page
      .getByRole('listitem')
      .filter({ hasText: 'vega' })
      .getByText(/As it was 4\d minutes ago/)
      .waitFor()
    await page.getByLabel('Status').selectOption('down')
    expect(await page.getByRole('heading', { level: 2 }).allTextContents()).toEqual(['vega'])

    await page.getByLabel('Status').selectOption('all')
    const order = ['vega', 'lyra-canary', 'atlas', 'orion'] // what is down is what people come for
    expect(await page.getByRole('heading', { level: 2 }).allTextContents()).toEqual(order)
    await page.getByRole('link', { name: 'atlas' }).click()
    await page.getByRole('cell', { name: 'active → down' }).waitFor()
    await expect.poll(() => page.getByRole('cell', { name: 'down → active' }).count()).toBe(1)
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('§8.2 a thousand clusters: twelve are drawn and asked about, the rest is found by typing', async () => {
    const { cookie, project_id } = await seedOwner(scene().db())
    const many = Array.from({ length: 1_000 }, (_, at) => ({ name: `rack-${at}` }))
    await scene()
      .db()
      .transaction((tx) => seedClusters(tx, project_id, many))
    const visit = await scene().visit('/clusters', { cookie })
    const { page } = visit
    const asked = new Set<string>()
    page.on('request', (request) => void (request.url().endsWith('/telemetry') && asked.add(request.url())))
    await page.getByText('1–12 of 1,000').waitFor()
    await expect.poll(() => page.getByRole('heading', { level: 2 }).count()).toBe(12)
    await page.keyboard.press('/')
    await page.keyboard.type('rack-432')
    await page.getByRole('link', { name: 'rack-432', exact: true }).waitFor()
    expect(asked.size).toBeLessThan(60) // what was seen on the way, not a thousand
    await visit.close()
  })

  test('§7 a slow list shows that it loads, a failing one says why; a card survives without its telemetry', async () => {
    const { cookie, project_id } = await seedOwner(scene().db())
    await seedClusters(scene().db(), project_id, [{ name: 'atlas' }])
    const visit = await scene().visit('/start', { cookie })
    const { page } = visit
    const gate: { open?: () => void } = {}
    const opened = new Promise<void>((open) => Object.assign(gate, { open }))
    const fails = { status: 503, json: { error: { message: 'The store does not answer.', type: 'server_error' } } }
    await page.route('**/v2/byoc/clusters', async (route) => {
      await opened
      await route.fulfill(fails)
    })
    await page.route('**/telemetry', (route) => route.fulfill(fails))
    await page.getByRole('link', { name: 'Clusters', exact: true }).click()
    await page.locator('.skeleton').first().waitFor()
    gate.open?.()
    await page.getByText('Clusters could not be loaded. The store does not answer.').waitFor()
    await page.unroute('**/v2/byoc/clusters')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('Its telemetry could not be loaded: The store does not answer.').waitFor()
    await page.getByRole('link', { name: 'atlas' }).waitFor()
    await visit.close()
  })
})
