// Two projects of one person: the address says which, Back and links lead into the right one, and neither shows anything
// of the other, not even in two tabs at once.
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { rfc3339, systemClock } from '../../src/core/clock.ts'
import { sql } from '../../src/storage/db.ts'
import { faults, withConsole } from './checks.ts'
import { PASSWORD, seedKeys, seedOwner } from './seed.ts'

withConsole((scene) => {
  /** Somebody with a project of their own, who is a member of another; each has a key that tells it apart. */
  async function seeded() {
    const db = scene().db()
    const atlas = await seedOwner(db, { name: 'Atlas' })
    const harbour = await seedOwner(db, { name: 'Harbour' })
    const now = systemClock.now()
    await db.rows(sql`
      INSERT INTO membership (project_id, person_id, role, created_at, sequence)
      VALUES (${harbour.project_id}, ${atlas.person_id}, 'owner', ${rfc3339(now)}, ${now})`)
    const [atlas_key = ''] = await seedKeys(db, atlas.project_id, [{ name: 'atlas-agent' }])
    const [harbour_key = ''] = await seedKeys(db, harbour.project_id, [{ name: 'harbour-crane' }])
    return { ...atlas, atlas: atlas.project_id, harbour: harbour.project_id, atlas_key, harbour_key }
  }
  type Seeded = Awaited<ReturnType<typeof seeded>>

  const pathOf = (page: Page) => new URL(page.url()).pathname
  const choose = (page: Page, name: string) =>
    page.getByRole('combobox', { name: 'Project' }).selectOption({ label: name })

  /** Everything that came from the service, by the key that only one of them has. */
  function heardBy(page: Page) {
    const heard: string[] = []
    page.on('response', async (answer) => {
      if (answer.url().includes('/v2/')) heard.push(await answer.text().catch(() => ''))
    })
    return { tellsOf: (key: string) => heard.some((text) => text.includes(key)), forget: () => heard.splice(0) }
  }

  test('§console 0356 the address carries the project; another keeps the page, and Back returns', async () => {
    const { cookie, atlas, harbour, atlas_key } = await seeded()
    const visit = await scene().visit('/keys', { cookie })
    const { page } = visit
    await page.getByText('atlas-agent').waitFor()
    expect(pathOf(page)).toBe(`/console/${atlas}/keys`)

    const heard = heardBy(page)
    await choose(page, 'Harbour')
    await page.getByText('harbour-crane').waitFor()
    expect(pathOf(page)).toBe(`/console/${harbour}/keys`)
    expect(await page.getByText('atlas-agent').count()).toBe(0)
    expect(heard.tellsOf(atlas_key)).toBe(false)
    await page.getByRole('link', { name: 'harbour-crane' }).click()
    await page.getByRole('heading', { name: 'harbour-crane' }).waitFor()

    await page.goBack()
    await page.goBack()
    await page.getByText('atlas-agent').waitFor()
    expect(pathOf(page)).toBe(`/console/${atlas}/keys`)
    expect(await page.getByText('harbour-crane').count()).toBe(0)
    await page.goForward()
    await page.getByText('harbour-crane').waitFor()
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('§console 0356 from a thing of one project to the list of the other, without the filters that name things', async () => {
    const { cookie, atlas_key, harbour } = await seeded()
    const visit = await scene().visit(`/keys/${atlas_key}`, { cookie })
    const { page } = visit
    await page.getByRole('heading', { name: 'atlas-agent' }).waitFor()
    await choose(page, 'Harbour')
    await page.getByText('harbour-crane').waitFor()
    expect(pathOf(page)).toBe(`/console/${harbour}/keys`)
    await page.goto(`/console/usage?range=90d&key_id=${atlas_key}`) // what was chosen last is where one comes without a project
    await page.waitForURL(`**/${harbour}/usage?range=90d&key_id=${atlas_key}`)
    await choose(page, 'Atlas')
    await page.waitForURL((url) => url.search === '?range=90d')
    await visit.close()
  })

  test('§console 0356 a deep link to the other project leads there after signing in', async () => {
    const { email, harbour, harbour_key }: Seeded = await seeded()
    const visit = await scene().visit(`/${harbour}/keys/${harbour_key}?do=Edit`)
    const { page } = visit
    await page.getByLabel('E-mail').fill(email)
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('dialog').waitFor()
    expect(page.url()).toContain(`/console/${harbour}/keys/${harbour_key}?do=Edit`)
    expect(await page.getByRole('heading', { name: 'harbour-crane', exact: true }).count()).toBe(1)
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('§console 0356 two tabs, two projects: what one chooses changes nothing of the other', async () => {
    const { cookie, atlas, atlas_key, harbour, harbour_key } = await seeded()
    const visit = await scene().visit(`/${atlas}/keys`, { cookie })
    const { page } = visit
    await page.getByText('atlas-agent').waitFor()
    const other = await visit.context.newPage()
    await other.goto(`/console/${atlas}/keys`)
    await other.getByText('atlas-agent').waitFor()
    await choose(other, 'Harbour')
    await other.getByText('harbour-crane').waitFor()
    const heard = heardBy(page)
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByRole('link', { name: 'Keys', exact: true }).click()
    await page.getByText('atlas-agent').waitFor()
    await expect.poll(() => heard.tellsOf(atlas_key), { timeout: 60_000 }).toBe(true)
    expect(heard.tellsOf(harbour_key)).toBe(false)
    expect(pathOf(page)).toBe(`/console/${atlas}/keys`)
    expect(pathOf(other)).toBe(`/console/${harbour}/keys`)
    await visit.close()
  })

  test('§console 0356 §5.8 somebody else’s project does not exist, and one’s own are offered', async () => {
    const [{ cookie, atlas }, stranger] = [await seeded(), await seedOwner(scene().db(), { name: 'Secret' })]
    const visit = await scene().visit(`/${stranger.project_id}/keys`, { cookie })
    const { page } = visit
    await page.getByRole('heading', { name: 'You have no such project' }).waitFor()
    expect(await page.getByText('Secret').count()).toBe(0)
    await page.getByRole('link', { name: 'Atlas' }).click()
    await page.getByRole('navigation', { name: 'Project' }).waitFor()
    expect(pathOf(page)).toContain(`/console/${atlas}`)
    expect(faults(visit)).toEqual([])
    await visit.close()
  })
})
