// Traces in a browser: found by what was pasted, told step by step, every header in a sentence.
import { expect, test } from 'vitest'
import { faults, withConsole } from './checks.ts'
import { seedKeys, seedOwner } from './seed.ts'
import { seedFailed, seedRefused, seedTrace } from './traffic.ts'

withConsole((scene) => {
  test('§10.2 a header line that is pasted opens its trace: each attempt, the first token, the money, each header', async () => {
    const { cookie, project_id } = await seedOwner(scene().db())
    const [key_id = ''] = await seedKeys(scene().db(), project_id, [{ name: 'ci' }])
    const trace_id = await seedTrace(scene().db(), project_id, key_id)
    const visit = await scene().visit('/requests', { cookie })
    const { page } = visit
    await page.getByRole('heading', { name: 'Requests', exact: true }).waitFor()
    await page.evaluate((text) => navigator.clipboard.writeText(text), `agent-trace-id: ${trace_id}`)
    await page.keyboard.press('/')
    await page.keyboard.press('ControlOrMeta+v')
    await page.getByText('provider:openai was called for gpt-4o, and failed: overloaded, status 529.').waitFor()
    const steps = await page.locator('.waterfall-name').allTextContents()
    expect(steps).toEqual([
      'Arrival',
      ...['Admission 1', 'Hold 1', 'Attempt 1', 'Admission 2', 'Hold 2', 'Attempt 2'],
      ...['First token', 'Answer', 'Settle', 'End'],
    ])
    await page.getByText('It waited for a slot of provider:openai.').waitFor()
    const headers = page.locator('.headers')
    await headers.getByText('An earlier target failed, or own capacity could not take the call').waitFor()
    await expect.poll(() => headers.getByText('as a trailer').count()).toBe(3)
    await page.getByText('76.9% cached').waitFor()
    await page.getByRole('link', { name: 'ci', exact: true }).click()
    await page.getByRole('heading', { name: 'ci' }).waitFor()
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('§8.2 a recorded call shows what was sent and answered, on demand; any other says why it has none', async () => {
    const { cookie, project_id } = await seedOwner(scene().db())
    const [key_id = ''] = await seedKeys(scene().db(), project_id, [{ name: 'ci' }])
    const trace_id = await seedTrace(scene().db(), project_id, key_id)
    const visit = await scene().visit(`/traces/${trace_id}`, { cookie })
    const { page } = visit
    await page.getByText('Not recorded. The operator of this server lets nobody record calls').waitFor()
    const recording = {
      ...{ trace_id, status: 200, stream: true, request_bytes: 13, answer_bytes: 24 },
      request: { bytes: 13, encoding: 'utf-8', text: '{"model":"m"}' },
      answer: { bytes: 24, encoding: 'utf-8', text: 'data: {"said":"hello"}\n\n' },
    }
    await page.route(`**/v2/traces/${trace_id}`, async (route) => {
      const told = await (await route.fetch()).json()
      await route.fulfill({ json: { ...told, recording: { recorded: true, why_not: null } } })
    })
    await page.route(`**/v2/recordings/${trace_id}`, (route) => route.fulfill({ json: recording }))
    await page.reload()
    await page.getByRole('button', { name: 'Show request and answer' }).click()
    await page.getByText('"model": "m"').waitFor()
    await page.getByText('"said": "hello"').waitFor()
    expect(await page.getByRole('button', { name: 'Download its bytes' }).count()).toBe(2)
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('§console what is no id is looked for in errors; an unknown id says why it may be', async () => {
    const { cookie } = await seedOwner(scene().db())
    const visit = await scene().visit('/requests', { cookie })
    const { page } = visit
    await page.getByText('No requests yet').waitFor()
    await page.getByLabel('Id, or text of the error').fill('out of memory')
    await page.keyboard.press('Enter')
    await page.getByText('No request matches').waitFor()
    expect(new URL(page.url()).search).toBe('?error=out+of+memory')
    await page.getByLabel('Id, or text of the error').fill('trc_gone')
    await page.keyboard.press('Enter')
    await page.getByText('There is no such request in this project').waitFor()
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('R80 a request id opens why it was refused: the reason, the layer, who asked for what', async () => {
    const { cookie, project_id } = await seedOwner(scene().db())
    const [key_id = ''] = await seedKeys(scene().db(), project_id, [{ name: 'ci' }])
    const trace_id = await seedRefused(scene().db(), project_id, key_id)
    const visit = await scene().visit('/requests', { cookie })
    const { page } = visit
    await page.getByLabel('Id, or text of the error').fill(`x-request-id: req_${trace_id.slice(4)}`)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Why it was refused' }).waitFor()
    await page.getByText("The key's budget is used up.", { exact: true }).waitFor()
    await page.getByText('17 equal refusals in this minute.').waitFor()
    await page.getByText('It was refused: a budget was used up.').waitFor()
    await page.getByText('gpt-4o', { exact: true }).waitFor()
    expect(await page.locator('.waterfall-name').allTextContents()).toEqual(['Arrival', 'Refusal'])
    await page.getByRole('link', { name: 'ci', exact: true }).click()
    await page.getByRole('heading', { name: 'ci' }).waitFor()
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test('R80 one that failed shows each attempt, and what the upstream said', async () => {
    const { cookie, project_id } = await seedOwner(scene().db())
    const trace_id = await seedFailed(scene().db(), project_id)
    const visit = await scene().visit(`/traces/${trace_id}`, { cookie })
    const { page } = visit
    await page.getByRole('heading', { name: 'Why it failed' }).waitFor()
    await page.getByText("The upstream 'main' failed before it answered: status 500: CUDA out of memory.").waitFor()
    const said = page.locator('.upstream-words blockquote')
    expect(await said.allTextContents()).toEqual(['CUDA out of memory', 'The model is overloaded.'])
    await page.getByText('Attempt 2: provider:spare for gpt-4o, rate limited (status 429)').waitFor()
    expect(faults(visit)).toEqual([])
    await visit.close()
  })

  test("§5 another project's trace is not there", async () => {
    const [one, other] = [await seedOwner(scene().db()), await seedOwner(scene().db())]
    const trace_id = await seedTrace(scene().db(), one.project_id)
    const visit = await scene().visit(`/traces/${trace_id}`, { cookie: other.cookie })
    await visit.page.getByText('There is no such request in this project').waitFor()
    await visit.close()
  })

  test('§7 a slow answer shows that it loads, a failing one can be tried again', async () => {
    const { cookie, project_id } = await seedOwner(scene().db())
    const trace_id = await seedTrace(scene().db(), project_id)
    const visit = await scene().visit('/requests', { cookie })
    const { page } = visit
    const gate: { open?: () => void } = {}
    const opened = new Promise<void>((open) => Object.assign(gate, { open }))
    await page.route('**/v2/traces/*', async (route) => {
      await opened
      await route.fulfill({ status: 503, json: { error: { message: 'Not now.', type: 'server_error' } } })
    })
    await page.getByRole('table', { name: 'Requests' }).getByRole('link').first().click()
    await page.getByRole('status', { name: 'Loading' }).waitFor()
    gate.open?.()
    await page.getByText('The trace could not be loaded. Not now.').waitFor()
    await page.unroute('**/v2/traces/*')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('$0.02312 was charged.').waitFor()
    expect(page.url()).toContain(trace_id)
    await visit.close()
  })
})
