// alias, usage, credential, cluster, plan and keys against a running server: output for people, JSON for programs,
// exit codes.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test as sequential } from 'vitest'
import { freePort } from '../test/support/free-port.ts'
import { commandsOfService, done, failed, KEY } from '../test/support/running-commands.ts'

// No test minds what another one creates, so they run side by side.
const test = sequential.concurrent
const { as, run, json, ask, place, url } = commandsOfService()

const PLAN = {
  expected_recompute_ms: 120,
  tiers: [
    { name: 'host_ram', lookup_ms: 1, transfer_ms: 20, decompression_ms: 5, queue_delay_ms: 2 },
    { name: 'remote', lookup_ms: 10, transfer_ms: 200, decompression_ms: 5, queue_delay_ms: 2.5 },
  ],
}

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

test('R52 cluster load: what heartbeats told, as a table and as it is; view save, list and delete', async () => {
  const { key } = await json('project create --name loads --owner-email lin@example.com --verified')
  const mine = async (line: string) => (await as(key, line)).stdout
  const told = async (line: string) => JSON.parse(await mine(`${line} --json`))
  const { id } = await told('cluster register --name loaded --region eu-west-1')
  const beat = { status: 'active', load: { running: 7, waiting: 2, kv_utilization: 0.425 } }
  const answer = await fetch(`${url()}/v2/byoc/clusters/${id}/heartbeat`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(beat),
  })
  expect(answer.status).toBe(200)
  expect(await mine(`cluster load ${id}`)).toMatch(/^\d{4}-.* UTC +7 +2 +43 +-$/m)
  expect((await told(`cluster load ${id}`)).data).toMatchObject([{ running: 7, waiting: 2, ttft_p95_ms: null }])
  expect(await as(key, `cluster load ${id} --from yesterday`)).toEqual(failed(1, /'from' must .*\(400 /))

  const saved = await told('view save refused ?outcome=refused')
  expect(saved).toMatchObject({ page: 'requests', name: 'refused', query: 'outcome=refused' })
  expect(await mine('view list')).toMatch(new RegExp(`^${saved.id} +requests +refused +outcome=refused `, 'm'))
  expect(await mine(`view delete ${saved.id}`)).toBe(`Deleted ${saved.id}.\n`)
  expect((await told('view list')).data).toEqual([])
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
  const told = (await json('alias history team/fast')).data
  expect(told.map(({ version, previous_version }: Record<string, number>) => [version, previous_version])).toEqual([
    [1, 2],
    [2, 1],
    [1, null],
  ])
  expect((await run('alias history team/fast')).stdout).toMatch(
    new RegExp(`^ACTIVATED .*\\n\\d{4}-.* UTC +1 +${created.current_release_id} +2 +key_\\w+\\n`),
  )
  expect((await run('alias outcomes team/fast')).stdout).toMatch(
    new RegExp(`^ *2 +${second.id} +0 +0 +\\$0\\.00 +- +-$`, 'm'),
  )
  expect(await run('alias history team/nothing')).toEqual(failed(1, /\(404 /))
  const third = await json('alias release team/fast --target openai=gpt-4o --activate')
  expect((await run('alias list')).stdout).toMatch(new RegExp(`^team/fast +${third.current_release_id} `, 'm'))
  expect(await run('alias delete team/fast')).toEqual(done('Deleted team/fast.\n'))
  expect(await run('alias delete team/fast')).toEqual(failed(1, /\(404 /))
})

test('§8.2 usage as a table, added up, as JSON and as CSV', async () => {
  // In a project of its own: in the common one, another test's credential may take the calls elsewhere.
  const { api_key, key } = await json('project create --name spender --owner-email spender@example.com --verified')
  const { id } = api_key
  const chat = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Say hello.' }] }
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  for (let n = 0; n < 2; n++) {
    const answer = await fetch(`${url()}/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify(chat) })
    expect([answer.status, await answer.json()]).toMatchObject([200, { object: 'chat.completion' }])
  }
  const { stdout } = await as(key, `usage --key ${id}`)
  expect(stdout).toMatch(/^TIME +TRACE +KEY +MODEL +PROVIDER +STATUS +MS +INPUT +OUTPUT +CHARGED\n/)
  expect(stdout.match(/ completed +\d+ +\d+ +\d+ +\$0\.00$/gm)).toHaveLength(2)
  expect((await as(key, `usage --key ${id} --limit 1`)).stdout).toMatch(/^There are more: --after trc_\w+\n$/m)
  expect((await as(key, `usage --key ${id} --group-by model,day --from 2020-01-01`)).stdout).toMatch(
    /^DAY +MODEL +REQUESTS +INPUT +OUTPUT +CHARGED\n\d{4}-\d\d-\d\d +gpt-4o-mini +2 +\d+ +\d+ +\$0\.00\n$/,
  )
  expect((await as(key, `usage --key ${id} --group-by bundle_id`)).stdout).toMatch(/^BUNDLE +REQUESTS .*\n *- +2 /)
  expect(JSON.parse((await as(key, `usage --key ${id} --json`)).stdout).data).toHaveLength(2)
  const csv = (await as(key, `usage --key ${id} --csv`)).stdout.trimEnd().split('\n')
  expect([csv[0], csv.length]).toEqual([expect.stringContaining('trace_id'), 3])
})

test('R20 credentials: the secret comes from standard input or a variable, and is never shown', async () => {
  const secret = 'sk-a-secret-of-some-length'
  const entered = await run('credential add --provider openai --name piped', `${secret}\n`)
  expect(entered).toEqual(done(expect.stringMatching(/^Secret +sk-a…ngth$/m)))
  const line = 'credential add --provider openai --name named --secret-env MINE --json'.split(' ')
  const named = await place().run(line, { SWITCHYARD_URL: url(), SWITCHYARD_KEY: KEY, MINE: secret })
  const { id } = JSON.parse(named.stdout)
  const { stdout } = await run('credential list')
  expect(stdout).toMatch(new RegExp(`^${id} +openai +named +sk-a…ngth +active +- +-$`, 'm'))
  expect([entered.stdout, named.stdout, stdout].join()).not.toContain(secret)
  expect(await run('credential add --provider openai --name none')).toEqual(failed(2, /holds no secret/))
  expect(await run('credential add --provider openai --name none --secret-env NONE')).toEqual(failed(2, /NONE is not/))
  const aws = JSON.stringify({ Credentials: { AccessKeyId: 'AKIAIOSFODNN7EXAMPLE', SecretAccessKey: 'never-shown' } })
  const bedrock = 'credential add --provider bedrock --name aws --region us-east-1 --model claude=us.anthropic.claude-x'
  const platform = await run(bedrock, aws)
  expect(platform).toEqual(
    done(expect.stringMatching(/^Secret +AKIA…MPLE$[\s\S]*^Region +us-east-1$[\s\S]*^Models +claude$/m)),
  )
  expect(platform.stdout).not.toContain('never-shown')
  expect(await run(`${bedrock} --model nothing`, aws)).toEqual(failed(2, /must be like name=upstream/))
  expect(await run(bedrock, '{no')).toEqual(failed(2, /begins like JSON/))
  expect(await run(`credential revoke ${id}`)).toEqual(done(`Revoked ${id}.\n`))
  expect(await run(`credential verify ${id}`)).toEqual(failed(1, /is revoked\. \(400 /))
})

test('§4.9 plan reads a file or standard input, and says what it means', async () => {
  writeFileSync(join(place().folder, 'plan.json'), JSON.stringify(PLAN))
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
  expect(await place().run(list)).toEqual(failed(2, /^switchyard: SWITCHYARD_KEY must be set/))
  const wrong = await place().run(list, { SWITCHYARD_KEY: KEY, SWITCHYARD_URL: 'ftp://x' })
  expect(wrong).toEqual(failed(2, /^switchyard: SWITCHYARD_URL must be an http or https address.*\n$/))
  const nobody = await place().run(list, {
    SWITCHYARD_KEY: KEY,
    SWITCHYARD_URL: `http://127.0.0.1:${await freePort()}/`,
  })
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

test('0252 prices: the book as a file, and where a file differs from it', async () => {
  const { stdout } = await run('prices show')
  const file = join(place().folder, 'prices.yaml')
  writeFileSync(file, stdout)
  const models = `${stdout.match(/^ *- id: /gm)?.length} models`
  expect(await run(`prices check ${file}`)).toEqual(done(`${models}, 0 other than in the price book\n`))
  writeFileSync(file, stdout.replace('input_usd_per_million: 2.5', 'input_usd_per_million: 2.25'))
  expect(await run(`prices check ${file}`)).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^\S+: input 2250000, in the book 2500000/),
    stderr: `switchyard: ${models}, 1 other than in the price book\n`,
  })
  writeFileSync(file, 'models: 1')
  expect(await run(`prices check ${file}`)).toMatchObject({ code: 2, stderr: expect.stringContaining("'models'") })
})

test('R76 a key that takes what its budget buys', async () => {
  const created = await json('key create --name clamped --clamp-output')
  expect(created.clamp_output).toBe(true)
  const { stdout } = await run(`key edit ${created.id} --no-clamp-output`)
  expect(stdout).not.toContain('as much as the budget buys')
})

test('§8.1.2 a key with so many generations at once: made, shown, changed, cleared', async () => {
  const created = await json('key create --name narrow --max-parallel 4')
  expect(created.max_parallel_requests).toBe(4)
  expect((await run(`key edit ${created.id} --max-parallel 3`)).stdout).toContain('3 generations')
  expect((await run(`limits set ${created.id} --parallel 2`)).stdout).toMatch(/Generations at once\s+2/)
  const rated = await run(`limits set ${created.id} --model-rate gpt-4o*=60:100000 o1=:5 fast=7`)
  expect(rated.stdout).toMatch(/Models\s+gpt-4o\*=60:100000, o1=:5, fast=7/)
  expect((await run(`limits set ${created.id} --model-rate fast`)).code).toBe(2)
  expect((await run(`limits set ${created.id} --no-model-rates`)).stdout).not.toContain('Models')
  expect((await run(`key edit ${created.id} --any-parallel`)).stdout).not.toContain('generations')
  expect((await run(`limits show ${created.id}`)).stdout).toMatch(/Generations at once\s+no limit/)
})
