// key and limits against a running server: output for people, JSON for programs, exit codes.
import { expect, test as sequential } from 'vitest'
import { commandsOfService, done, failed } from '../test/support/running-commands.ts'

// No test minds what another one creates, so they run side by side.
const test = sequential.concurrent
const { as, run, json } = commandsOfService()

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
    done(expect.stringMatching(/^This day +\$0\.00 of \$2\.00, resets at /m)),
  )
  expect((await run('key list')).stdout).toMatch(new RegExp(`^${created.id} .* \\$3.00, \\$2.00 a day `, 'm'))
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

test('§8.1 limits of every key, and of one', async () => {
  const { id } = await json('key create --name limited')
  expect((await run('limits show')).stdout).toMatch(/^each key +tokens per minute +\d+$/m)
  const set = await run(`limits set ${id} --requests 600`)
  expect(set).toEqual(done(expect.stringMatching(/^Requests a minute +600\nTokens a minute +\d+ \(as every key\)$/m)))
  expect(await json(`limits show ${id}`)).toMatchObject({ requests_per_minute: 600, tokens_per_minute: null })
  expect(await json(`limits set ${id} --clear`)).toMatchObject({ requests_per_minute: null })
  expect(await run(`limits set ${id} --requests 0`)).toEqual(failed(1, /requests_per_minute.*\(400 /))
})

test('R74 a key is bound to clusters, to others, and to none', async () => {
  const { id: cluster } = await json('cluster register --name bound --region eu-west-1')
  const { id: other } = await json('cluster register --name other --region eu-west-1')
  const created = await json(`key create --name heartbeat --allowed-cluster ${cluster}`)
  expect(created.allowed_clusters).toEqual([cluster])
  expect((await as(created.key, `cluster heartbeat ${cluster} --status active`)).code).toBe(0)
  expect(await as(created.key, `cluster heartbeat ${other} --status active`)).toEqual(failed(1, /\(403 /))
  const edited = await run(`key edit ${created.id} --allowed-cluster ${cluster} ${other}`)
  expect(edited).toEqual(done(expect.stringMatching(new RegExp(`^Clusters +${cluster} ${other}$`, 'm'))))
  expect(await json(`key edit ${created.id} --any-cluster`)).not.toHaveProperty('allowed_clusters')
  expect(await run('key create --name x --allowed-cluster atlas')).toEqual(failed(1, /allowed_clusters.*\(400 /))
})
