// §9.4 in a browser: an alias with its first release, a further one, activation that names what moves, and R40 in words.
import { expect, test } from 'vitest'
import { aliasStore } from '../../src/models/alias-store.ts'
import { allOf } from '../support/batches.ts'
import { faults, withConsole } from './checks.ts'
import { seedOwner } from './seed.ts'
import { seedAlias, seedFleet, seedRouting } from './seed-fleet.ts'

withConsole((scene) => {
  test('§9.4 create, release, activate with what moves, return to the one before, delete', async () => {
    const { cookie, project_id, email } = await seedOwner(scene().db())
    await seedFleet(scene().db(), project_id)
    const visit = await scene().visit('/routing', { cookie })
    const { page } = visit
    await page.getByRole('heading', { name: 'No aliases yet' }).waitFor()
    await page.keyboard.press('c')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Fast One')
    await dialog.getByLabel('Model').fill('llama-3.3-70b')
    await dialog.getByRole('button', { name: 'Create alias' }).click()
    await dialog.getByText('Must be made of small letters').waitFor()
    await dialog.getByLabel('Name').fill('team/fast')
    await dialog.getByRole('button', { name: 'Create alias' }).click()
    await page.getByRole('heading', { name: 'Release 1 is active' }).waitFor()
    expect(page.url()).toContain('/routing/team%2Ffast')

    await page.getByRole('button', { name: 'New release' }).click()
    await dialog.getByRole('button', { name: 'Add target' }).click()
    await dialog.getByLabel('Goes to').last().selectOption('provider')
    await dialog.getByLabel('Provider', { exact: true }).fill('openai')
    await dialog.getByLabel('Model').last().fill('gpt-4o')
    await dialog.getByLabel('Weight').last().fill('3')
    await dialog.getByText('gets 75%').waitFor()
    await dialog.getByRole('button', { name: 'Add release' }).click()
    await dialog.getByText('goes to release 2 instead of release 1').waitFor()
    await dialog.getByRole('row', { name: /openai provider gpt-4o 0% 75%/ }).waitFor()
    await dialog.getByRole('row', { name: /atlas cluster llama-3.3-70b 100% 25%/ }).waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('heading', { name: 'Release 1 is active' }).waitFor() // nothing moved
    await page.getByRole('button', { name: 'Activate release 2' }).click()
    await dialog.getByRole('button', { name: 'Activate release 2' }).click()
    await page.getByRole('heading', { name: 'Release 2 is active' }).waitFor()
    await page.getByRole('button', { name: 'Return to release 1' }).click()
    await dialog.getByRole('button', { name: 'Return to release 1' }).click()
    await page.getByRole('heading', { name: 'Release 1 is active' }).waitFor()
    const history = page.getByRole('table', { name: 'Activations' })
    await history.getByText('release 2 → 1').waitFor()
    expect(await history.getByText(email).count()).toBe(3)

    await page.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByText('is refused with 404').waitFor()
    await dialog.getByRole('textbox').fill('team/fast')
    await dialog.getByRole('button', { name: 'Delete alias' }).click()
    await page.getByRole('heading', { name: 'No aliases yet' }).waitFor()
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('R40 a route is explained: the places in order, those left out with their reasons', async () => {
    const { cookie, project_id } = await seedOwner(scene().db())
    const cluster_id = (await seedFleet(scene().db(), project_id)).at(-1) ?? ''
    await seedRouting(scene().db(), project_id, cluster_id)
    const visit = await scene().visit('/routing', { cookie })
    const { page } = visit
    await page.getByLabel('Model or alias').fill('qwen3-32b')
    await page.getByRole('button', { name: 'Explain' }).click()
    const order = page.getByRole('list', { name: 'Where it goes, in order' })
    await order.getByText('first choice').waitFor()
    await expect.poll(() => order.getByRole('listitem').count()).toBe(1)
    await expect.poll(() => order.textContent()).toContain('atlas')
    const left_out = page.getByRole('list', { name: 'Left out' })
    await left_out.getByText('lyra-canary the cluster is draining').waitFor()
    await left_out.getByText('vega the cluster is down').waitFor()

    await page.getByLabel('Model or alias').fill('research/long')
    await page.keyboard.press('Enter')
    await page.getByText('by release alr_').waitFor()
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('§8.2 a thousand aliases: a page at a time, found by typing', async () => {
    const { cookie, project_id } = await seedOwner(scene().db())
    await scene()
      .db()
      .transaction(async (tx) => {
        for (let at = 0; at < 1_000; at++)
          await seedAlias(tx, project_id, {
            name: `agent-${at}`,
            releases: [[{ provider: 'openai', model: 'gpt-4o', weight: 1 }]],
          })
      })
    const visit = await scene().visit('/routing', { cookie })
    const { page } = visit
    await page.getByText('1–50 of 1,000').waitFor()
    await page.getByLabel('Search aliases').fill('agent-432')
    await page.getByRole('link', { name: 'agent-432', exact: true }).waitFor()
    await page.getByText('gpt-4o 100%').waitFor()
    await visit.close()
  })

  test('§11 a double click makes one release; §7 a failing list says why', async () => {
    const { cookie, project_id } = await seedOwner(scene().db())
    const targets = [{ provider: 'openai', model: 'gpt-4o', weight: 1 }]
    await seedAlias(scene().db(), project_id, { name: 'fast', releases: [targets] })
    const visit = await scene().visit('/routing/fast', { cookie })
    const { page } = visit
    await page.getByRole('heading', { name: 'Release 1 is active' }).waitFor()
    await page.getByRole('button', { name: 'New release' }).click()
    await page.getByRole('button', { name: 'Add release' }).dblclick()
    await page.getByText('goes to release 2 instead of release 1').waitFor()
    const alias = await aliasStore(scene().db()).find(project_id, 'fast')
    expect(alias && (await allOf(aliasStore(scene().db()).listReleases(alias))).length).toBe(2)

    await page.route('**/v2/aliases', (route) => route.abort())
    await page.goto('/console/routing')
    await page.getByText('Aliases could not be loaded. The server cannot be reached.').waitFor()
    await page.unroute('**/v2/aliases')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('link', { name: 'fast' }).waitFor()
    await visit.close()
  })
})
