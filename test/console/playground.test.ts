// §10 in a browser: a chat that streams, with hints, its headers and its cost; stopped, refused and broken off.
import type { Page } from 'playwright-core'
import { afterAll, expect, test } from 'vitest'
import { decodeHints } from '../../src/hints/hints.ts'
import { faults, withConsole } from './checks.ts'
import { MODEL, modelUpstream } from './model-upstream.ts'
import { seedOwner } from './seed.ts'

let upstream: Awaited<ReturnType<typeof modelUpstream>>

async function settings() {
  upstream = await modelUpstream()
  return upstream.env
}
afterAll(() => upstream?.close())

withConsole((scene) => {
  async function opened() {
    const seeded = await seedOwner(scene().db())
    const visit = await scene().visit('/playground', { cookie: seeded.cookie })
    const model = () => visit.page.getByLabel('Model or alias').inputValue()
    await expect.poll(model, { timeout: 60_000 }).toBe(MODEL)
    return { ...seeded, visit, page: visit.page }
  }

  async function say(page: Page, text: string) {
    await page.getByLabel('Message').fill(text)
    await page.keyboard.press('Enter')
  }

  const answer = (page: Page) => page.getByRole('region', { name: 'Answer', exact: true }).last()

  test('§10 R41 an answer is seen while it comes, then its headers, its cost and the project’s account', async () => {
    const { page, visit } = await opened()
    const gate: { open?: () => void } = {}
    const opens = new Promise<void>((open) => Object.assign(gate, { open }))
    upstream.behave({ ...upstream.SAYING, pace: (event) => (event === 6 ? opens : undefined) })
    const before = upstream.requests.length
    await page.getByText('counts against the project’s cap').waitFor()
    await page.getByText('List price: $2.00 in, $8.00 out').waitFor()
    await page.getByLabel('System prompt').fill('Be brief.')
    await page.getByLabel('Class').selectOption('interactive')
    await page.getByLabel('First token').fill('60000')
    await page.getByLabel('Deadline').fill('60000')
    await page.getByLabel('Reuse').selectOption('prefer')
    await say(page, 'What does a router do?')
    await answer(page).getByText('Routers').waitFor()
    expect(await answer(page).textContent()).not.toContain('hop at a time')
    await page.getByText('What it costs is known at its end.').waitFor()
    gate.open?.()
    await answer(page).getByText('one hop at a time.').waitFor()

    const facts = page.getByRole('region', { name: 'How the answer came about' })
    await facts.getByText('completed', { exact: true }).waitFor()
    // 600 × 2 + 400 × 1 + 500 × 8 micro-dollars, and 400 less than at list price.
    await facts.getByText('$0.0056').first().waitFor()
    await facts.getByText('$0.0004').first().waitFor()
    await facts.getByText('agent-hints-honored').waitFor()
    await facts.getByText('The first token came within the time that was asked for.').waitFor()
    const { body } = await upstream.request(before + 1)
    expect(body.messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'What does a router do?' },
    ])
    const spent = await page.evaluate(() => fetch('/v2/project').then((told) => told.json()))
    expect(spent.spent_micros).toBe(5600)

    await say(page, 'And a switch?')
    await facts.getByText('completed', { exact: true }).waitFor()
    const { body: second } = await upstream.request(before + 2)
    expect(second.messages.map(({ role }: { role: string }) => role)).toEqual(['system', 'user', 'assistant', 'user'])
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('R26 stop ends the upstream call, keeps what came, and tells what it cost', async () => {
    const { page, visit } = await opened()
    upstream.behave({ ...upstream.SAYING, pace: (event) => (event === 4 ? new Promise(() => {}) : undefined) })
    const before = upstream.requests.length
    await say(page, 'Go on for ever.')
    await answer(page).getByText('Routers').waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    expect(await (await upstream.request(before + 1)).over).toBe('left')
    const facts = page.getByRole('region', { name: 'How the answer came about' })
    await facts.getByText('stopped', { exact: true }).waitFor()
    await facts.getByText('Charged', { exact: true }).waitFor()
    await answer(page).getByText('Routers').waitFor()
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('R26 planted: with an idempotency key, a stopped answer would be finished and paid for', async () => {
    const { page, visit } = await opened()
    await page.addInitScript(() => {
      const send = window.fetch
      window.fetch = (input, init) => {
        const keyed = { ...(init?.headers as Record<string, string>), 'agent-idempotency-key': 'kept' }
        return send(input, input === '/v2/responses' ? { ...init, headers: keyed } : init)
      }
    })
    await page.reload()
    await page.getByText('List price').waitFor()
    const gate: { open?: () => void } = {}
    const opens = new Promise<void>((open) => Object.assign(gate, { open }))
    upstream.behave({ ...upstream.SAYING, pace: (event) => (event === 4 ? opens : undefined) })
    const before = upstream.requests.length
    await say(page, 'Go on for ever.')
    await answer(page).getByText('Routers').waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByText('stopped', { exact: true }).waitFor()
    gate.open?.()
    expect(await (await upstream.request(before + 1)).over).toBe('answered')
    await visit.close()
  })

  test('R44 past its deadline nothing is charged, and what was typed is still there', async () => {
    const { page, visit } = await opened()
    upstream.behave({ instead: 'silence' })
    await page.getByLabel('Deadline').fill('300')
    await say(page, 'Hurry.')
    await page.getByRole('alert').waitFor()
    expect(await page.getByRole('alert').textContent()).toMatch(/deadline/i)
    expect(await page.getByLabel('Message').inputValue()).toBe('Hurry.')
    upstream.behave(upstream.SAYING)
    await page.getByLabel('Deadline').fill('soon')
    await page.keyboard.press('Enter')
    await page.getByLabel('Message').press('Enter')
    await page.locator('.field-error').getByText('Must be a number.').waitFor()
    await visit.close()
  })

  test('R47 an answer that breaks off says so, beside what came', async () => {
    const { page, visit } = await opened()
    upstream.behave({ ...upstream.SAYING, cut: { after: 5, how: 'reset' } })
    await say(page, 'Break.')
    await page.getByRole('alert').waitFor()
    await answer(page).getByText('Routers').waitFor()
    await page.getByText('failed', { exact: true }).waitFor()
    upstream.behave(upstream.SAYING)
    await visit.close()
  })

  test('§10.1 the code on the page says the same, with the same hints', async () => {
    const { page, visit } = await opened()
    await page.getByLabel('Message').fill('It’s "here".')
    await page.getByLabel('Class').selectOption('background')
    const code = async () => (await page.getByRole('tabpanel').locator('code').textContent()) ?? ''
    const [, header = ''] = /Agent-Hints: (\S+)"/.exec(await code()) ?? []
    expect(decodeHints(header)).toEqual({ qos: { class: 'background' } })
    for (const name of ['Python', 'TypeScript']) {
      await page.getByRole('tab', { name }).click()
      expect(await code()).toContain(header)
      expect(await code()).toContain('It’s \\"here\\".')
    }
    await visit.close()
  })

  test('R3 a viewer looks and cannot send', async () => {
    const { visit, page } = await opened()
    await page.route('**/auth/me', async (route) => {
      const told = await (await route.fetch()).json()
      const projects = told.projects.map((project: object) => ({ ...project, role: 'viewer' }))
      await route.fulfill({ json: { ...told, projects } })
    })
    await page.reload()
    await page.getByText('You are a viewer here').waitFor()
    expect(await page.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true)
    await visit.close()
  })
}, settings)
