// R79: `switchyard operator` on the store, beside a running server that goes by what it did.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compiledCommand, type Workplace } from '../test/support/command.ts'

const KEY = `svc_live_${'o'.repeat(40)}`
const { workplace } = compiledCommand()
let place: Workplace
let url: string

beforeAll(async () => {
  place = workplace()
  url = (await place.serve({ SWITCHYARD_BOOTSTRAP_KEY: KEY })).url
})
afterAll(() => place.leave())

const run = (line: string) => place.run(`operator ${line}`.split(' '))
const failed = (code: number, stderr: RegExp) => ({ code, stdout: '', stderr: expect.stringMatching(stderr) })

async function json(line: string) {
  const { code, stdout, stderr } = await run(`${line} --json`)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout)
}

// biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of a body by looking into it
const dataOf = async (answer: Response): Promise<any[]> => ((await answer.json()) as { data: any[] }).data

const ask = (path: string, key = KEY, body?: object) =>
  fetch(url + path, {
    headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  })

test('R79 projects: created, listed, shown, capped, shared, suspended and resumed; the server goes by it', async () => {
  const { project, key } = await json('project create --name atlas --owner-email ada@example.com --verified')
  const { data } = await json('project list')
  expect(data.map(({ name, is_operator }: { name: string; is_operator?: true }) => [name, is_operator])).toEqual([
    ['default', true],
    ['atlas', undefined],
  ])
  expect(await json('project cap atlas --usd 8.2')).toMatchObject({ id: project.id, operator_cap_micros: 8_200_000 })
  expect(await json(`project share ${project.id} 3`)).toMatchObject({ share: 3 })
  const { stdout } = await run('project show atlas')
  expect(stdout).toMatch(/^Operator cap +\$8\.20$/m)
  expect((await run('project list')).stdout).toMatch(
    /^prj_\w+ +atlas +active +ada@example\.com +\$0\.00 +\$8\.20 +- +3 /m,
  )
  expect(await json('project cap atlas --clear')).not.toHaveProperty('operator_cap_micros')

  expect(await json('project suspend atlas')).toMatchObject({ status: 'suspended' })
  // The embedded server learns of another process's write with its own next one, which each use of a key brings.
  await expect.poll(async () => (await ask('/v2/api-keys', key)).status).toBe(403)
  expect((await ask('/v2/usage', key)).status).toBe(200)
  await run('project resume atlas')
  await expect.poll(async () => (await ask('/v2/api-keys', key)).status).toBe(200)

  const actions = async (raw: string) =>
    (await dataOf(await ask('/v2/audit-log', raw))).map(
      ({ actor, action }: Record<string, string>) => `${actor} ${action}`,
    )
  const done = ['resume', 'suspend', 'cap', 'share', 'cap'].map(
    (deed) => `operator switchyard operator project ${deed}`,
  )
  expect(await actions(key)).toEqual([...done, 'operator switchyard project create'])
  expect((await actions(KEY)).slice(0, 5)).toEqual(done)
})

test('R79 over HTTP a suspension holds for the very next request, also of a caller that the server remembers', async () => {
  const { project, key } = await json('project create --name dock --owner-email dock@example.com')
  const status = async () => (await ask('/v2/byoc/clusters', key)).status
  expect([await status(), await status()]).toEqual([200, 200])
  for (const [deed, then] of [
    ['suspend', 403],
    ['resume', 200],
    ['suspend', 403],
  ] as const) {
    expect((await ask(`/v2/operator/projects/${project.id}/${deed}`, KEY, {})).status).toBe(200)
    expect(await status(), deed).toBe(then)
  }
})

test('R79 quotas and subscriptions of a project, and usage of all', async () => {
  const { key } = await json('project create --name quay --owner-email quay@example.com --verified')
  expect(await json('project quota quay --set sessions=0 keys=5')).toMatchObject({
    sessions: 0,
    effective: { keys: 5 },
  })
  expect((await ask('/v2/sessions', key, {})).status).toBe(429)
  expect((await run('project quota quay --set sessions=default')).stdout).toMatch(/^sessions +200000 +-$/m)
  expect((await ask('/v2/sessions', key, {})).status).toBe(200)

  const plan = '--plan pro --provider openai --discount 20 --allowance 1000'
  const made = await json(`subscription create quay ${plan}`)
  expect(made).toMatchObject({ input_discount_pct: 20, overage_enabled: false })
  expect(await dataOf(await ask('/v2/subscriptions', key))).toEqual([made])
  expect((await run('subscription list quay')).stdout).toMatch(
    new RegExp(`^${made.id} +pro +openai +active +20 +1000`, 'm'),
  )
  expect(await json(`subscription cancel quay ${made.id}`)).toMatchObject({ status: 'canceled' })

  const chat = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] }
  expect((await ask('/v1/chat/completions', key, chat)).status).toBe(200)
  const { data } = await json('usage --project quay')
  expect(data).toMatchObject([{ project_name: 'quay', events: 1, charged_micros: 0 }])
  expect((await run('usage --group-by model')).stdout).toMatch(/^prj_\w+ +quay +gpt-4o-mini +1 /m)
  expect((await run('usage --group-by tag:team')).stdout).toMatch(
    /^PROJECT +NAME +TAG +REQUESTS .*\nprj_\w+ +quay +- +1 /,
  )
})

test('R79 what cannot be done is told in one line', async () => {
  expect(await run('project show nobody')).toEqual(failed(1, /^switchyard: There is no project 'nobody'/))
  expect(await run('project suspend default')).toEqual(failed(1, /cannot be suspended/))
  expect(await run('project share default 0')).toEqual(failed(1, /between 1 and 1000/))
  expect(await run('project cap default')).toEqual(failed(2, /give --usd/))
  expect(await run('project quota default --set ships=5')).toEqual(failed(1, /There is no quota 'ships'/))
  expect(await run('project quota default --set keys')).toEqual(failed(2, /sessions=500/))
  expect(await run('subscription cancel default sub_unknown')).toEqual(failed(1, /no subscription 'sub_unknown'/))
  const dear = await run('subscription create default --plan x --provider y --discount 101 --allowance 1')
  expect(dear).toEqual(failed(1, /between 0 and 100/))
})
