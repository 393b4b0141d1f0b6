// project, key, alias, usage, limits, credential, cluster and plan against a running server: output for people, JSON for programs, exit codes.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test as sequential } from 'vitest'
import { compiledCommand, type Workplace } from '../test/support/command.ts'
import { freePort } from '../test/support/free-port.ts'

// No test minds what another one creates, so they run side by side.
const test = sequential.concurrent

const KEY = `svc_live_${'k'.repeat(40)}`
const PLAN = {
  expected_recompute_ms: 120,
  tiers: [
    { name: 'host_ram', lookup_ms: 1, transfer_ms: 20, decompression_ms: 5, queue_delay_ms: 2 },
    { name: 'remote', lookup_ms: 10, transfer_ms: 200, decompression_ms: 5, queue_delay_ms: 2.5 },
  ],
}

const { workplace } = compiledCommand()
let place: Workplace
let url: string

beforeAll(async () => {
  place = workplace()
  url = (await place.serve({ SWITCHYARD_BOOTSTRAP_KEY: KEY })).url
})
afterAll(() => place.leave())

/** The command line as somebody would type it. */
const as = (key: string, line: string, input?: string) =>
  place.run(line.split(' '), { SWITCHYARD_URL: url, SWITCHYARD_KEY: key }, input)
const run = (line: string, input?: string) => as(KEY, line, input)

async function json(line: string) {
  const { code, stdout, stderr } = await run(`${line} --json`)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout)
}

const ask = async (path: string, key = KEY) =>
  (await fetch(url + path, { headers: { authorization: `Bearer ${key}` } })).text()
const done = (stdout: unknown) => ({ code: 0, stderr: '', stdout })
const failed = (code: number, stderr: RegExp) => ({ code, stdout: '', stderr: expect.stringMatching(stderr) })

test('§2 project create works beside a running server, for people and for programs', async () => {
  const created = await json('project create --name one --owner-email Ada@Example.com --verified')
  expect(created).toMatchObject({
    project: { id: expect.stringMatching(/^prj_/), object: 'project', name: 'one', owner_id: created.owner.id },
    owner: { email: 'ada@example.com', verified_at: created.project.created_at },
    api_key: { object: 'api_key', scopes: ['admin'], project_id: created.project.id },
    key: expect.stringMatching(/^svc_live_/),
  })
  expect(created.api_key).not.toHaveProperty('key')
  expect(JSON.parse(await ask('/v2/api-keys', created.key)).data[0].id).toBe(created.api_key.id)

  const { stdout } = await run('project create --name two --owner-email eve@example.com')
  expect(stdout).toMatch(/^Owner +eve@example\.com \(not verified/m)
  const [key = ''] = /svc_live_\w+/.exec(stdout) ?? []
  expect(await as(key, 'key create --name x')).toEqual(
    failed(1, /^switchyard: Verify .* \(403 insufficient_scope\)\n$/),
  )
})

test('§2 project create refuses an address or a name that is none', async () => {
  const refused = await run('project create --name x --owner-email nobody')
  expect(refused).toEqual(failed(1, /^switchyard: 'email' must be an e-mail address\.\n$/))
  const long = await run(`project create --name ${'x'.repeat(257)} --owner-email a@example.com`)
  expect(long).toEqual(failed(1, /^switchyard: 'name' must have at most 256 characters\.\n$/))
})

test('R60–R65 key create with terms, edit, rotate, child and windows', async () => {
  const terms = '--expires 2099-01-01T00:00:00Z --models fast gpt-4o* --cidrs 127.0.0.0/8 ::1/128'
  const created = await json(`key create --name bound ${terms}`)
  expect(created).toMatchObject({
    expires_at: '2099-01-01T00:00:00.000Z',
    allowed_models: ['fast', 'gpt-4o*'],
    allowed_cidrs: ['127.0.0.0/8', '::1/128'],
  })
  const edited = await json(`key edit ${created.id} --name other --never-expires --any-model --cidrs 127.0.0.1/32`)
  expect(edited).toMatchObject({ name: 'other', allowed_cidrs: ['127.0.0.1/32'] })
  expect(Object.keys(edited)).not.toEqual(expect.arrayContaining(['expires_at', 'allowed_models']))
  expect(await run(`key edit ${created.id}`)).toEqual(failed(2, /say what is to change/))

  const rotated = await json(`key rotate ${created.id} --overlap 0`)
  expect(await as(created.key, 'key list')).toEqual(failed(1, /\(401 invalid_api_key\)\n$/))
  expect((await as(rotated.key, 'key list')).code).toBe(0)
  expect(await run(`key rotate ${created.id}`)).toEqual(done(expect.stringMatching(/^Old secret +until \d{4}-/m)))

  const child = await json(`key child ${created.id} --name run --usd 0.5 --ttl 60 --models fast`)
  expect(child).toMatchObject({ parent_id: created.id, budget_micros: 500_000, allowed_models: ['fast'] })
  const { stdout } = await as(child.key, `key child ${created.id} --name run --usd 1 --ttl 60`)
  expect(stdout).toBe('')

  const window = await json(`key budget ${created.id} --usd 2 --window day`)
  expect(window).toMatchObject({ window: { period: 'day', limit_micros: 2_000_000 } })
  expect(window).not.toHaveProperty('budget_micros')
  expect(await run(`key budget ${created.id} --usd 3`)).toEqual(
    done(expect.stringMatching(/^This day +\$0\.00 of \$2\.00, anew at /m)),
  )
  expect(await json(`key budget ${created.id} --clear-window`)).toMatchObject({ budget_micros: 3_000_000 })
})

test('§4.1–4.4 key create, list, budget and revoke', async () => {
  const created = await json('key create --name worker --scope read inference')
  expect(created).toMatchObject({ name: 'worker', scopes: ['read', 'inference'], status: 'active' })
  expect((await json('key create --name plain')).scopes).toEqual(['inference'])
  expect(await run('key create --name shown')).toEqual(done(expect.stringMatching(/^ {2}svc_live_\w{42}$/m)))

  expect(await json(`key budget ${created.id} --usd 8.2`)).toMatchObject({ budget_micros: 8_200_000 })
  const { stdout: listed } = await run('key list')
  expect(listed).toMatch(/^ID +NAME +KEY +SCOPES +STATUS +SPENT +LIMIT +LAST USED\n/)
  expect(listed).toMatch(
    new RegExp(`^${created.id} +worker +svc_live_.* +read inference +active +\\$0.00 +\\$8.20 +-$`, 'm'),
  )
  expect(await json(`key budget ${created.id} --clear`)).not.toHaveProperty('budget_micros')

  expect(await run(`key revoke ${created.id}`)).toEqual(done(`Revoked ${created.id}.\n`))
  expect(await json(`key revoke ${created.id}`)).toEqual({ id: created.id, object: 'api_key.revoked', revoked: true })
  expect(await as(created.key, 'key list')).toEqual(failed(1, /\(401 invalid_api_key\)\n$/))
})

test('§4.2 key list goes page by page, and to the children of one', async () => {
  const parent = await json('key create --name parent')
  expect((await run('key list --limit 1')).stdout).toMatch(/^There are more: --after key_\w{20}\n$/m)
  const behind = await json(`key list --limit 1000 --after ${parent.id}`) // other tests make keys meanwhile
  const whole: { id: string }[] = (await json('key list')).data
  expect(behind.has_more).toBe(false)
  expect(behind.data).toHaveLength(whole.length - 1 - whole.findIndex(({ id }) => id === parent.id))
  expect((await json(`key list --parent ${parent.id}`)).data).toEqual([])
  expect(await run('key list --limit 0')).toEqual(failed(1, /'limit'/))
})

test('§4.5–4.8 cluster register, list, heartbeat and deregister; --json is the answer, byte for byte', async () => {
  const plain = await json('cluster register --name plain --region eu-west-1')
  const scaled = await json('cluster register --name scaled --region eu-west-1 --min-replicas 0')
  // The command fills in what is not given, and must not come to differ from the service in that.
  expect(scaled.autoscaling).toEqual({ ...plain.autoscaling, min_replicas: 0 })
  const options =
    '--runtime sglang --kv-cache mooncake --orchestrator dynamo --endpoint https://atlas.example.com/v1 ' +
    '--min-replicas 2 --max-replicas 8 --target-ttft-ms 250'
  const { stdout: shown } = await run(`cluster register --name atlas --region eu-west-1 ${options}`)
  expect(shown).toMatch(/^Runtime +sglang, mooncake, dynamo$/m)
  expect(shown).toMatch(/^Replicas +2–8, first token within 250 ms$/m)

  expect(await json(`cluster heartbeat ${plain.id} --status active`)).toMatchObject({ status: 'active' })
  expect(await run(`cluster show ${plain.id}`)).toEqual(done(expect.stringMatching(/^Status +active$/m)))
  const { stdout: listed } = await run('cluster list')
  expect(listed.split('\n').map((line) => line.split(/ {2,}/)[1])).toEqual([
    'NAME',
    'atlas',
    'scaled',
    'plain',
    undefined,
  ])
  expect(listed).toMatch(new RegExp(`^${plain.id} +plain +eu-west-1 +active +vllm +1–4 +\\d{4}-.* UTC +-$`, 'm'))
  const { stdout: bytes } = await run('cluster list --json')
  expect(bytes).toBe(`${await ask('/v2/byoc/clusters')}\n`)

  expect(await run(`cluster deregister ${plain.id}`)).toEqual(done(`Deregistered ${plain.id}.\n`))
  const again = await run(`cluster deregister ${plain.id} --json`)
  expect(again).toEqual(
    failed(1, /^switchyard: No cluster 'byc_\w+' in this project\. \(404 invalid_request_error\)\n$/),
  )
})

test('0163 project list, and a key added to a project as its operator, by id or name; it is on record there', async () => {
  const { project, key } = await json('project create --name harbour --owner-email bea@example.com --verified')
  const { stdout } = await run('project list')
  expect(stdout).toMatch(/^ID +NAME +OWNER +KEYS +SPENT +CAP +CREATED\nprj_\w+ +default +owner@switchyard\.local +\d+ /)
  expect(stdout).toMatch(new RegExp(`^${project.id} +harbour +bea@example\\.com +1 +\\$0\\.00 +- +\\d{4}-`, 'm'))
  const listed: { id: string }[] = (await json('project list')).data
  expect(listed.map(({ id }) => id)).toContain(project.id)

  // The last admin key is lost: the operator makes another, without a key.
  const nobody = { SWITCHYARD_URL: 'http://127.0.0.1:1' }
  const line = ['key', 'create', '--project', 'harbour', '--name', 'rescue', '--scope', 'admin', '--json']
  const made = JSON.parse((await place.run(line, nobody)).stdout)
  expect(made).toMatchObject({ project_id: project.id, name: 'rescue', scopes: ['admin'] })
  expect((await as(made.key, 'key list')).stdout).toContain('rescue')
  expect(await ask('/v2/audit-log?actor=operator', key)).toContain('"action":"switchyard key create"')
  expect(await run(`key create --project ${project.id} --name plain`)).toEqual(
    done(expect.stringMatching(/^ {2}svc_live_\w{42}$/m)),
  )

  const unknown = await run('key create --project nowhere --name x')
  expect(unknown).toEqual(failed(1, /^switchyard: There is no project 'nowhere'\. .*project list.*\n$/))
  await json('project create --name harbour --owner-email carl@example.com --verified')
  const twice = await run('key create --project harbour --name x')
  expect(twice).toEqual(failed(1, /^switchyard: Several projects are called 'harbour'\. .*prj_\w+, prj_\w+\.\n$/))
  const again = await run('project create --name harbour --owner-email carl@example.com')
  expect(again).toEqual(failed(1, /^switchyard: carl@example\.com owns a project 'harbour' already: prj_\w+\.\n$/))
})

test('0160 owner-link prints a link for a project without an owner who signs in', async () => {
  await json('project create --name pier --owner-email dora@example.com')
  const printed = await json('owner-link --project pier')
  expect(printed).toMatchObject({
    project_name: 'pier',
    url: expect.stringMatching(/^http:.*become-owner#token=\w{43}$/),
  })
  const { stdout } = await run('owner-link --project pier')
  expect(stdout).toMatch(/^Open this to own the project pier\. It works once, until \d{4}-.* UTC\./)
  expect(stdout).not.toContain(printed.url)
})

test('§9.4 alias create, list, release, releases, activate and delete', async () => {
  const created = await json('alias create team/fast --target openai=gpt-4o-mini')
  const second = await json('alias release team/fast --target openai=gpt-4o,90 openai=gpt-4o-mini,10')
  expect(second).toMatchObject({
    version: 2,
    targets: [
      { provider: 'openai', model: 'gpt-4o', weight: 90 },
      { provider: 'openai', model: 'gpt-4o-mini', weight: 10 },
    ],
  })
  expect((await run('alias releases team/fast')).stdout).toMatch(
    new RegExp(`^${second.id} +2 +openai=gpt-4o,90 openai=gpt-4o-mini,10 +\\d{4}-`, 'm'),
  )
  expect(await json(`alias activate ${second.id}`)).toMatchObject({ current_release_id: second.id })
  expect(await json(`alias activate ${created.current_release_id}`)).toMatchObject({ id: created.id })
  const third = await json('alias release team/fast --target openai=gpt-4o --activate')
  expect((await run('alias list')).stdout).toMatch(new RegExp(`^team/fast +${third.current_release_id} `, 'm'))
  expect(await run('alias delete team/fast')).toEqual(done('Deleted team/fast.\n'))
  expect(await run('alias delete team/fast')).toEqual(failed(1, /\(404 /))
})

test('§8.2 usage as a table, added up, as JSON and as CSV', async () => {
  const { id, key } = await json('key create --name spender')
  const chat = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Say hello.' }] }
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  for (let n = 0; n < 2; n++) {
    const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify(chat) })
    expect([answer.status, await answer.json()]).toMatchObject([200, { object: 'chat.completion' }])
  }
  const { stdout } = await run(`usage --key ${id}`)
  expect(stdout).toMatch(/^TIME +TRACE +KEY +MODEL +PROVIDER +STATUS +MS +INPUT +OUTPUT +CHARGED\n/)
  expect(stdout.match(/ completed +\d+ +\d+ +\d+ +\$0\.00$/gm)).toHaveLength(2)
  expect((await run(`usage --key ${id} --limit 1`)).stdout).toMatch(/^There are more: --after trc_\w+\n$/m)
  expect((await run(`usage --key ${id} --group-by model,day --from 2020-01-01`)).stdout).toMatch(
    /^DAY +MODEL +REQUESTS +INPUT +OUTPUT +CHARGED\n\d{4}-\d\d-\d\d +gpt-4o-mini +2 +\d+ +\d+ +\$0\.00\n$/,
  )
  expect((await json(`usage --key ${id}`)).data).toHaveLength(2)
  const csv = (await run(`usage --key ${id} --csv`)).stdout.trimEnd().split('\n')
  expect([csv[0], csv.length]).toEqual([expect.stringContaining('trace_id'), 3])
})

test('§8.1 limits of every key, and of one', async () => {
  const { id } = await json('key create --name limited')
  expect((await run('limits show')).stdout).toMatch(/^each key +tokens per minute +\d+$/m)
  const set = await run(`limits set ${id} --requests 600`)
  expect(set).toEqual(done(expect.stringMatching(/^Requests a minute +600\nTokens a minute +\d+ \(as every key\)$/m)))
  expect(await json(`limits show ${id}`)).toMatchObject({ requests_per_minute: 600, tokens_per_minute: null })
  expect(await json(`limits set ${id} --clear`)).toMatchObject({ requests_per_minute: null })
  expect(await run(`limits set ${id} --requests 0`)).toEqual(failed(1, /requests_per_minute.*\(400 /))
})

test('R20 credentials: the secret comes from standard input or a variable, and is never shown', async () => {
  const secret = 'sk-a-secret-of-some-length'
  const entered = await run('credential add --provider openai --name piped', `${secret}\n`)
  expect(entered).toEqual(done(expect.stringMatching(/^Secret +sk-a…ngth$/m)))
  const line = 'credential add --provider openai --name named --secret-env MINE --json'.split(' ')
  const named = await place.run(line, { SWITCHYARD_URL: url, SWITCHYARD_KEY: KEY, MINE: secret })
  const { id } = JSON.parse(named.stdout)
  const { stdout } = await run('credential list')
  expect(stdout).toMatch(new RegExp(`^${id} +openai +named +sk-a…ngth +active +- +-$`, 'm'))
  expect([entered.stdout, named.stdout, stdout].join()).not.toContain(secret)
  expect(await run('credential add --provider openai --name none')).toEqual(failed(2, /holds no secret/))
  expect(await run('credential add --provider openai --name none --secret-env NONE')).toEqual(failed(2, /NONE is not/))
  expect(await run(`credential revoke ${id}`)).toEqual(done(`Revoked ${id}.\n`))
  expect(await run(`credential verify ${id}`)).toEqual(failed(1, /is revoked\. \(400 /))
})

test('§4.9 plan reads a file or standard input, and says what it means', async () => {
  writeFileSync(join(place.folder, 'plan.json'), JSON.stringify(PLAN))
  expect(await run('plan plan.json')).toEqual(
    done(`Fetch from host_ram: saves 92 of 120 ms. Enable hicache.

TIER      TOTAL MS  SAVED MS  BEATS RECOMPUTE
host_ram        28        92  yes
remote       217.5     -97.5  no
`),
  )
  const { stdout } = await run('plan -', JSON.stringify({ ...PLAN, expected_recompute_ms: 5 }))
  expect(stdout).toMatch(/^Recompute: no tier beats 5 ms\. Leave hicache off\.\n/)
  expect(JSON.parse((await run('plan plan.json --json')).stdout).recommendation).toBe('activate_tier')

  expect(await run('plan nowhere.json')).toEqual(failed(2, /^switchyard: nowhere\.json cannot be read: ENOENT/))
  expect(await run('plan -', '{')).toEqual(failed(2, /^switchyard: Standard input is not JSON: .*\n$/))
  // A number that JavaScript would round to Infinity reaches the service as it was written.
  expect(await run('plan -', '{"expected_recompute_ms": 1e999, "tiers": []}')).toEqual(failed(1, /\(400 invalid/))
})

test('§2 what is missing to reach a service: exit code 2 for a setting, 3 for the service', async () => {
  const list = ['key', 'list']
  expect(await place.run(list)).toEqual(failed(2, /^switchyard: SWITCHYARD_KEY must be set/))
  const wrong = await place.run(list, { SWITCHYARD_KEY: KEY, SWITCHYARD_URL: 'ftp://x' })
  expect(wrong).toEqual(failed(2, /^switchyard: SWITCHYARD_URL must be an http or https address.*\n$/))
  const nobody = await place.run(list, { SWITCHYARD_KEY: KEY, SWITCHYARD_URL: `http://127.0.0.1:${await freePort()}/` })
  expect(nobody).toEqual(failed(3, /^switchyard: http:\/\/127\.0\.0\.1:\d+ cannot be reached: .*ECONNREFUSED.*\n$/))
})

test('§2 wrong usage ends with exit code 2 and one line; help ends with 0', async () => {
  expect(await run('key create')).toEqual(failed(2, /^switchyard: required option '--name <text>' not specified\n$/))
  expect(await run('--help')).toEqual(done(expect.stringMatching(/Exit codes:\n {2}0 {2}done\n {2}1 /)))
})

test('R78 usage quarantine: what could not be added up, listed and let be tried again', async () => {
  const { stdout } = await run('usage quarantine')
  expect(stdout).toMatch(/^SET ASIDE +TRACE +PROJECT +CHARGED +REASON\n$/)
  expect((await json('usage quarantine')).data).toEqual([])
  expect(await run('usage quarantine --retry')).toEqual(done('0 events wait for the next roll-up.\n'))
  expect(await json('usage quarantine --retry')).toEqual({ retried: 0 })
  expect((await run('usage quarantine --project key_1')).code).toBe(2)
})
