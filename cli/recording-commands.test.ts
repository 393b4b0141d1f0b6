// recording against a running server: output for people, JSON for programs, exit codes.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { commandsOfService, done, failed, KEY } from '../test/support/running-commands.ts'

const folder = mkdtempSync(join(tmpdir(), 'switchyard-recordings-'))
afterAll(() => rmSync(folder, { recursive: true }))
const config = join(folder, 'switchyard.yaml')
writeFileSync(config, 'retention: { full_fidelity: true, days: 3 }\n')
const { run, json, url } = commandsOfService({ SWITCHYARD_CONFIG: config })

test('§4.16 recording on, list, show and off', async () => {
  expect(await run('recording list')).toEqual(done(expect.stringMatching(/^TRACE +AT +ENDPOINT/)))
  expect(await run('recording on')).toEqual(done(expect.stringMatching(/: generations are recorded from now on\.\n$/)))
  const body = JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hello' }] })
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  const answer = await fetch(`${url()}/v1/chat/completions`, { method: 'POST', headers, body })
  const [text, trace] = [await answer.text(), answer.headers.get('agent-trace-id')]
  expect(await run(`recording show ${trace} --only request`)).toEqual(done(`${body}\n`))
  expect(await run(`recording show ${trace} --only answer`)).toEqual(done(`${text}\n`))
  const { stdout } = await run(`recording show ${trace}`)
  expect(stdout).toMatch(/^Endpoint +\/v1\/chat\/completions\nStatus +200$/m)
  await expect
    .poll(async () => (await json('recording list --limit 5')).data)
    .toEqual([expect.objectContaining({ trace_id: trace, status: 200 })])
  expect((await run('recording list')).stdout).toMatch(new RegExp(`^${trace} .* whole +${body.length} `, 'm'))
  expect(await json('recording off')).toMatchObject({ recordings_enabled: false })
  expect(await run('recording show trc_none')).toEqual(failed(1, /No recording of 'trc_none'.*404/))
  expect(await run('recording show key_1')).toEqual(failed(2, /begin with trc_ or req_/))
})
