// §8.1 in a browser: a replay is planned, executed by somebody who signed in, compared, and becomes a release's evidence.
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cookieName } from '../../src/accounts/session-cookie.ts'
import { sql } from '../../src/storage/db.ts'
import { faults, violations, withConsole } from './checks.ts'
import { seedOwner } from './seed.ts'

async function recording(): Promise<Record<string, string>> {
  const file = join(mkdtempSync(join(tmpdir(), 'switchyard-replays-')), 'switchyard.yaml')
  writeFileSync(file, 'retention: { full_fidelity: true }\n')
  return { SWITCHYARD_CONFIG: file }
}

withConsole((scene) => {
  /** As the owner does over the API. */
  async function post(cookie: string, path: string, body: object): Promise<Record<string, string>> {
    const { address } = scene()
    const headers = {
      cookie: `${cookieName(false)}=${cookie}`,
      'content-type': 'application/json',
      origin: address,
    }
    const answer = await fetch(address + path, { method: 'POST', headers, body: JSON.stringify(body) })
    expect(answer.status).toBe(200)
    return (await answer.json()) as Record<string, string>
  }

  test('§8.1 from a plan to a comparison, and to a release that shows it', async () => {
    const { cookie, project_id } = await seedOwner(scene().db())
    await post(cookie, '/v2/project/recordings', { enabled: true })
    const { key } = await post(cookie, '/v2/api-keys', { name: 'agent' })
    const answer = await fetch(`${scene().address}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] }),
    })
    const trace_id = answer.headers.get('agent-trace-id') ?? ''
    await post(cookie, '/v2/aliases', { name: 'fast', targets: [{ provider: 'openai', model: 'gpt-4o-mini' }] })

    const visit = await scene().visit('/replays', { cookie })
    const { page } = visit
    await page.getByRole('heading', { name: 'No replays yet' }).waitFor()
    await page.keyboard.press('c')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Which calls').selectOption('traces')
    await dialog.getByLabel('Trace ids').fill(trace_id)
    await dialog.getByRole('button', { name: 'Plan', exact: true }).click()
    await dialog.locator('.field-error, [role=alert]').first().waitFor() // it must say where
    await dialog.getByLabel('Which one').fill('gpt-4o-mini')
    await dialog.getByRole('button', { name: 'Plan', exact: true }).click()
    await page.getByRole('heading', { name: /^rpl_/ }).waitFor()
    await page.getByRole('heading', { name: 'Plan', exact: true }).waitFor()
    const run_id = page.url().split('/').at(-1) ?? ''

    await page.getByRole('button', { name: 'Execute' }).click()
    await dialog.getByLabel('Set aside').fill('0.25')
    await dialog.getByRole('button', { name: 'Execute' }).click()
    await page.getByText('completed', { exact: true }).waitFor({ timeout: 60_000 })
    await page.getByText('2 of 2 calls').waitFor()
    await page.getByText('1 calls compared. 1 in the control arm.').waitFor()
    await page.getByRole('button', { name: 'Show everything' }).click()
    await page.getByRole('row', { name: /^Text .*of 1 differ/ }).waitFor()
    expect(await violations(page)).toEqual([])
    const [project] = await scene()
      .db()
      .rows<{ held_micros: number }>(sql`
      SELECT held_micros FROM project WHERE id = ${project_id}`)
    expect(project?.held_micros).toBe(0)

    await page.goto('/console/routing/fast')
    await page.getByRole('button', { name: 'New release' }).click()
    await dialog.getByLabel('Replay run').fill(run_id)
    await dialog.getByRole('button', { name: 'Add release' }).click()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('link', { name: '1 calls replayed' }).waitFor()
    expect(faults(visit)).toEqual([])
    await visit.close()
  })
}, recording)
