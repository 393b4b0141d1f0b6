// replay against a running server: output for people, JSON for programs, exit codes.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { commandsOfService, done, failed, KEY } from '../test/support/running-commands.ts'

const folder = mkdtempSync(join(tmpdir(), 'switchyard-replay-'))
afterAll(() => rmSync(folder, { recursive: true }))
const config = join(folder, 'switchyard.yaml')
writeFileSync(config, 'retention: { full_fidelity: true }\n')
const { run, json, url } = commandsOfService({ SWITCHYARD_CONFIG: config })

async function post(path: string, body: object): Promise<string> {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  const answer = await fetch(url() + path, { method: 'POST', headers, body: JSON.stringify(body) })
  expect(answer.status).toBe(200)
  return answer.headers.get('agent-trace-id') ?? ''
}

async function recorded(): Promise<string> {
  await post('/v2/project/recordings', { enabled: true })
  return post('/v1/chat/completions', { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] })
}

test('§8.1 replay from plan to comparison and to a release with evidence', async () => {
  const trace = await recorded()
  const told = await run(`replay plan --trace ${trace} trc_none --model gpt-4o --control --set temperature=0`)
  expect(told).toEqual(done(expect.stringMatching(/^Items +0 of 4 done, 2 pending, 2 skipped$/m)))
  expect(told.stdout).toMatch(/^ +2 +skipped +not_found /m)
  const id = /rpl_\w+/.exec(told.stdout)?.[0] ?? ''
  const over = await run(`replay run ${id} --max-cost 0.5 --concurrency 2`)
  expect(over).toEqual(done(expect.stringMatching(/^Status +completed$/m)))
  expect(over.stdout).toMatch(/^Returned +\$0\.50$/m)
  const compared = await run(`replay compare ${id} --all`)
  expect(compared).toEqual(
    done(expect.stringContaining('1 calls compared with what was recorded; 1 of the control arm.')),
  )
  expect(compared.stdout).toMatch(/^text +0 of 1, 0\.0 % to 79\.3 % /m)
  expect(compared.stdout).toMatch(/^charged_micros +\$0\.00 +\$0\.00 \(\+\$0\.00\) /m)
  expect((await json(`replay compare ${id}`)).differences).toEqual([])
  const alone = await json(`replay plan --trace ${trace} --model gpt-4o`)
  await run(`replay run ${alone.id} --max-cost 0.5`)
  expect((await run(`replay compare ${alone.id}`)).stdout).toMatch(
    /no control arm\.\nNothing differs beyond chance\.\n$/,
  )
  expect(await run('replay list')).toEqual(done(expect.stringMatching(new RegExp(`^${id} +completed +2 of 4 `, 'm'))))
  await run('alias create fast --target openai=gpt-4o')
  const release = await run(`alias release fast --target openai=gpt-4o --replay-run ${id}`)
  expect(release).toEqual(done(expect.stringMatching(new RegExp(`^Evidence +${id}: 1 calls, nothing differs$`, 'm'))))
})

test('§8.1 replay says what is missing, pauses, resumes and cancels', async () => {
  expect(await run('replay plan --trace trc_1')).toEqual(failed(1, /'target' must name/))
  expect(await run('replay plan --session none --model gpt-4o')).toEqual(failed(1, /'source' must match/))
  expect(await run('replay plan --trace trc_1 --model a --set temperature')).toEqual(failed(2, /temperature=0/))
  expect(await run('replay run rpl_1')).toEqual(failed(2, /--max-cost/))
  const { id } = await json(`replay plan --trace ${await recorded()} --model gpt-4o`)
  expect(await run(`replay pause ${id}`)).toEqual(failed(1, /it must be queued or running/))
  expect(await run(`replay cancel ${id}`)).toEqual(done(expect.stringMatching(/^Status +cancelled$/m)))
  expect(await run(`replay status ${id}`)).toEqual(done(expect.stringMatching(/ skipped +cancelled /)))
  expect(await run(`replay run ${id} --max-cost 1`)).toEqual(failed(1, /is cancelled; it must be planned/))
})
