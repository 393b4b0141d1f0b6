// 0361, 0362: the Terraform provider, by the real terraform against a running server: what docs/TERRAFORM.md shows, word for
// word, then drift, changes, imports, refusals, a kill in the middle, and the end of it all.
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { compiledCommand, type Workplace } from '../support/command.ts'
import { buildProvider, holdingProxy, killGroup, terraformPlace, whyNot } from '../support/terraform.ts'

const KEY = `svc_live_${'k'.repeat(40)}`
const VARIABLES = ['-var', 'vllm_key=sk-vllm-0123456789abcdef']
const [, EXAMPLE = ''] = /`main\.tf`[\s\S]*?```hcl\n([\s\S]*?)```/.exec(readFileSync('docs/TERRAFORM.md', 'utf8')) ?? []

const why_not = whyNot()

describe.skipIf(why_not)(why_not ? `skipped: ${why_not}` : 'with terraform and go', () => {
  const { workplace } = compiledCommand()
  let place: Workplace
  let proxy: Awaited<ReturnType<typeof holdingProxy>>
  let terraform: ReturnType<typeof terraformPlace>

  beforeAll(async () => {
    await buildProvider()
    place = workplace()
    // A provider of the environment, so that the one that Terraform makes is not the last when it goes.
    const { url } = await place.serve({ SWITCHYARD_BOOTSTRAP_KEY: KEY, OPENAI_API_KEY: 'sk-not-used' })
    proxy = await holdingProxy(url)
    terraform = terraformPlace({ SWITCHYARD_URL: proxy.url, SWITCHYARD_KEY: KEY })
    terraform.write('main.tf', EXAMPLE)
  }, 300_000)
  afterAll(() => {
    proxy?.close()
    terraform?.leave()
    return place?.leave()
  })

  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into
  async function api(method: string, path: string, body?: unknown, key = KEY): Promise<any> {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const sent = method === 'GET' ? {} : { body: JSON.stringify(body ?? {}) }
    const answer = await fetch(proxy.url + path, { method, headers, ...sent })
    const told = await answer.json()
    if (!answer.ok && method !== 'GET') throw new Error(`${method} ${path} answered ${JSON.stringify(told)}`)
    return told
  }
  const ofProject = (method: string, path: string, body?: unknown) =>
    api(method, path, body, terraform.attributes('switchyard_project', 'search').admin_key)
  const liveKeys = async (name: string) => {
    const { data } = await ofProject('GET', '/v2/api-keys')
    return data.filter((one: { name: string; status: string }) => one.name === name && one.status === 'active')
  }

  const ok = async (...args: string[]) => {
    const { code, stdout, stderr } = await terraform.run(args)
    expect(code, stdout + stderr).toBe(0)
    return stdout
  }
  const apply = (...more: string[]) => ok('apply', '-auto-approve', ...VARIABLES, ...more)
  /** 0: nothing to do; 2: something. */
  async function plan(...more: string[]) {
    const { code, stdout, stderr } = await terraform.run(['plan', '-detailed-exitcode', ...VARIABLES, ...more])
    return { code, text: stdout + stderr }
  }

  test('0361 the example of the documents: init, apply, and a second plan has nothing to do', async () => {
    await ok('fmt', '-check')
    await ok('init')
    proxy.loseAnswers(true)
    const said = await apply()
    proxy.loseAnswers(false)
    expect(said).toContain('Apply complete! Resources: 11 added, 0 changed, 0 destroyed.')
    const again = await plan()
    expect(again.code, again.text).toBe(0)
    const key = terraform.attributes('switchyard_api_key', 'agent')
    expect(await ofProject('GET', `/v2/api-keys/${key.id}`)).toMatchObject({
      ...{ name: 'agent-7', budget_micros: 25_000_000, allowed_models: ['search/fast'] },
      window: { period: 'day', limit_micros: 2_500_000 },
    })
    expect((await api('GET', '/v2/models', undefined, key.key)).object).toBe('list') // the secret in the state works
  })

  test('0362 every POST carries an idempotency key: each lost its answer once, was sent again, and did nothing twice', async () => {
    const posts = proxy.seen.filter(({ method }) => method === 'POST')
    expect(posts.length).toBeGreaterThan(10)
    expect(posts.filter(({ key }) => !key?.startsWith('tf-'))).toEqual([])
    expect(new Set(posts.map(({ path, key }) => `${path} ${key}`)).size).toBe(posts.length / 2)
    const lists = ['/v2/aliases', '/v2/aliases/search%2Ffast/releases', '/v2/byoc/clusters', '/v2/tag-budgets']
    for (const path of [...lists, '/v2/notification-channels', '/v2/subscriptions'])
      expect((await ofProject('GET', path)).data, path).toHaveLength(1)
    expect((await liveKeys('agent-7')).length).toBe(1)
    const { data } = await api('GET', '/v2/operator/projects')
    expect(data.map(({ name }: { name: string }) => name).filter((name: string) => name === 'search')).toHaveLength(1)
  })

  test('0361 all of it is imported by its ids, into a state that then has nothing to do', async () => {
    const other = terraformPlace({ SWITCHYARD_URL: proxy.url, SWITCHYARD_KEY: KEY })
    onTestFinished(other.leave)
    const { resources } = JSON.parse(readFileSync('terraform/provider/resources.json', 'utf8'))
    const blocks = [...EXAMPLE.matchAll(/^resource "switchyard_(\w+)" "(\w+)"/gm)].map(([, type = '', name = '']) => {
      const known = terraform.attributes(`switchyard_${type}`, name)
      const id = resources[type].import.map((one: string) => known[one]).join('/')
      return `import {\n to = switchyard_${type}.${name}\n id = "${id}"\n}\n`
    })
    const { admin_key } = terraform.attributes('switchyard_project', 'search')
    const told = EXAMPLE.replace('switchyard_project.search.admin_key', `"${admin_key}"`).replace(
      /secrets_version = 1/,
      '',
    )
    other.write('main.tf', told + blocks.join(''))
    expect((await other.run(['init'])).code).toBe(0)
    const { stdout, stderr } = await other.run(['plan', ...VARIABLES])
    expect(stdout + stderr).toContain('Plan: 11 to import, 0 to add, 0 to change, 0 to destroy.')
  })

  test('0361 secrets: what goes in is not in the state, what comes out is not in what is printed', async () => {
    expect(terraform.read('terraform.tfstate')).not.toContain('sk-vllm')
    const { key } = terraform.attributes('switchyard_api_key', 'agent')
    const { admin_key } = terraform.attributes('switchyard_project', 'search')
    const shown = await ok('show')
    for (const secret of [key, admin_key]) expect(shown).not.toContain(secret)
    expect(shown).toContain('(sensitive value)')
    expect((await api('GET', '/v2/operator/providers/vllm-eu')).secrets).toEqual({ api_key: '…cdef' })
  })

  test('0361 what was changed outside is seen, and put back in place', async () => {
    const { id } = terraform.attributes('switchyard_api_key', 'agent')
    await ofProject('POST', `/v2/api-keys/${id}/budget`, { limit_usd: 9 })
    const release = await ofProject('POST', '/v2/aliases/search%2Ffast/releases', {
      targets: [{ provider: 'vllm-eu', model: 'llama-3.3-70b' }],
    })
    await ofProject('POST', `/v2/alias-releases/${release.id}/activate`)
    await api('POST', '/v2/operator/providers/vllm-eu/drain')
    await api('PATCH', '/v2/operator/providers/vllm-eu', { version: 2, retries: 2 })
    const seen = await plan('-out=older.tfplan')
    expect(seen.code, seen.text).toBe(2)
    expect(seen.text).toMatch(/limit_usd\s+= 9 -> 25/)
    expect(seen.text).toContain('Plan: 0 to add, 3 to change, 0 to destroy.')

    await api('PATCH', '/v2/operator/providers/vllm-eu', { version: 3, retries: 3 }) // by somebody else, after the plan
    const late = await terraform.run(['apply', ...VARIABLES, 'older.tfplan'])
    expect(late.stderr).toMatch(/PATCH \/v2\/operator\/providers\/vllm-eu answered 412/)
    expect((await api('GET', '/v2/operator/providers/vllm-eu')).entered.retries).toBe(3)

    await apply()
    expect(await ofProject('GET', `/v2/api-keys/${id}`)).toMatchObject({ budget_micros: 25_000_000 })
    expect((await api('GET', '/v2/operator/providers/vllm-eu')).entered.retries).toBeUndefined()
    // Whether it drains is not in the configuration: what somebody does in an incident is left alone.
    expect((await api('GET', '/v2/operator/providers/vllm-eu')).status).toBe('draining')
    const { targets } = terraform.attributes('switchyard_alias', 'fast')
    expect(targets.map((one: { weight: number }) => one.weight)).toEqual([3, 1])
  })

  test('0361 changes in place, one that replaces, one that is refused by name, and nothing left over', async () => {
    const before = terraform.attributes('switchyard_api_key', 'agent')
    const cluster = terraform.attributes('switchyard_cluster', 'gpu').id
    const changed = EXAMPLE.replace('"agent-7"', '"agent-8"')
      .replace('limit_usd      = 25\n', '')
      .replace('"gpu-1"', '"gpu-2"')
      .replace('limit_usd = 100.5', 'limit_usd = 0.1')
      .replace('input_usd_per_million = 0.6', 'input_usd_per_million = 0.7')
      .replace('secrets_version = 1', 'secrets_version = 2\n draining = false')
    terraform.write('main.tf', changed)
    const said = await ok('apply', '-auto-approve', '-var', 'vllm_key=sk-vllm-the-second-one')
    expect(said).toMatch(/Resources: 1 added, \d changed, 1 destroyed/)
    const after = terraform.attributes('switchyard_api_key', 'agent')
    expect(after).toMatchObject({ id: before.id, key: before.key, name: 'agent-8', limit_usd: null })
    expect(terraform.attributes('switchyard_cluster', 'gpu').id).not.toBe(cluster)
    expect(await api('GET', '/v2/operator/providers/vllm-eu')).toMatchObject({
      ...{ status: 'active', secrets: { api_key: '…-one' } },
    })
    const again = await plan()
    expect(again.code, again.text).toBe(0)

    terraform.write('main.tf', changed.replace('name        = "search"', 'name        = "finding"'))
    const refused = await plan()
    expect(refused.code).toBe(1)
    expect(refused.text).toContain('This cannot be changed')
    terraform.write('main.tf', changed)
  })

  test('0361 a refusal is told in the server’s words, at its argument, and leaves nothing', async () => {
    const wrong = `resource "switchyard_api_key" "wrong" {
      provider      = switchyard.search
      name          = "wrong"
      allowed_cidrs = ["not-a-network"]
    }`
    terraform.write('wrong.tf', wrong)
    const { code, stderr } = await terraform.run(['apply', '-auto-approve', '-refresh=false', ...VARIABLES])
    expect(code).toBe(1)
    expect(stderr.replace(/\s*│?\s+/g, ' ')).toMatch(/allowed_cidrs = \["not-a-network"\].*'allowed_cidrs/)
    expect(stderr).toMatch(/POST \/v2\/api-keys answered 400 invalid_request_error, x-request-id/)
    expect(await liveKeys('wrong')).toEqual([])
    terraform.write('wrong.tf', wrong.replace(/allowed_cidrs.*/, 'scopes = ["everything"]'))
    const early = await terraform.run(['validate'])
    expect(early.stderr).toContain("It must be one of 'read', 'inference', 'admin', not 'everything'.")
    terraform.write('wrong.tf', '')
  })

  test('0361 what is there already is imported, and then has nothing to do', async () => {
    const { id } = await ofProject('POST', '/v2/api-keys', {
      name: 'older',
      limit_usd: 3,
      expires_at: '2099-01-01T00:00:00+02:00',
    })
    terraform.write(
      'older.tf',
      `import {
        to = switchyard_api_key.older
        id = "${id}"
      }
      resource "switchyard_api_key" "older" {
        provider   = switchyard.search
        name       = "older"
        limit_usd  = 3
        expires_at = "2098-12-31T23:00:00+01:00"
      }
      resource "switchyard_api_key" "replaced" {
        provider = switchyard.search
        name     = "replaced"
        lifecycle {
          create_before_destroy = true
        }
      }
      resource "switchyard_provider_credential" "own" {
        provider        = switchyard.search
        provider_id     = "openai"
        name            = "own"
        secret          = "sk-of-the-project-itself"
        secrets_version = 1
      }`,
    )
    const said = await apply()
    expect(said).toContain('1 imported, 2 added, 0 changed, 0 destroyed')
    expect(terraform.read('terraform.tfstate')).not.toContain('sk-of-the-project')
    const credential = terraform.attributes('switchyard_provider_credential', 'own').id
    await ok('state', 'rm', 'switchyard_provider_credential.own')
    terraform.write('own.tf', `import {\n to = switchyard_provider_credential.own\n id = "${credential}"\n}`)
    // That its secret is the one of the configuration is believed.
    expect(await apply()).toContain('1 imported, 0 added, 1 changed, 0 destroyed')
    expect(terraform.attributes('switchyard_provider_credential', 'own').id).toBe(credential)
    const again = await plan()
    expect(again.code, again.text).toBe(0)
  })

  test('0362 what takes its own place is not ended', async () => {
    const { id } = terraform.attributes('switchyard_api_key', 'replaced')
    expect(await apply('-refresh=false', '-replace=switchyard_api_key.replaced')).toContain('Nothing was replaced')
    expect(terraform.attributes('switchyard_api_key', 'replaced').id).toBe(id)
    expect(await liveKeys('replaced')).toHaveLength(1)
  })

  test('0362 an apply that is killed after the server did its part is run again: one key, with its secret, and one release', async () => {
    const releases = async () => (await ofProject('GET', '/v2/aliases/search%2Ffast/releases')).data.length
    const before = await releases()
    terraform.write('cut.tf', 'resource "switchyard_api_key" "cut" {\n provider = switchyard.search\n name = "cut"\n}')
    terraform.write('main.tf', terraform.read('main.tf').replace('weight = 3', 'weight = 4'))
    const made = [proxy.hold('/v2/api-keys'), proxy.hold('/v2/aliases/search%2Ffast/releases')]
    const { child, ended } = terraform.start(['apply', '-auto-approve', '-refresh=false', '-no-color', ...VARIABLES])
    await Promise.all(made)
    killGroup(child)
    await ended
    proxy.letGo()
    const [lost] = await liveKeys('cut')
    expect(terraform.read('terraform.tfstate')).not.toContain(lost.id)

    const said = await apply()
    expect(said).toContain('Made by an earlier apply')
    expect((await liveKeys('cut')).map(({ id }: { id: string }) => id)).toEqual([lost.id])
    expect(await releases()).toBe(before + 1)
    expect(terraform.attributes('switchyard_alias', 'fast').targets[0].weight).toBe(4)
    const { id, key } = terraform.attributes('switchyard_api_key', 'cut')
    expect(id).toBe(lost.id)
    expect((await api('GET', '/v2/models', undefined, key)).object).toBe('list')
  })

  test('0362 a key that is used is not taken over, and one that was revoked outside is made anew', async () => {
    const before = terraform.attributes('switchyard_api_key', 'cut')
    const twin = 'resource "switchyard_api_key" "twin" {\n provider = switchyard.search\n name = "cut"\n}'
    terraform.write('twin.tf', twin)
    await apply()
    const { id } = terraform.attributes('switchyard_api_key', 'twin')
    expect(id).not.toBe(before.id)
    await ofProject('DELETE', `/v2/api-keys/${id}`)
    await apply()
    const anew = terraform.attributes('switchyard_api_key', 'twin').id
    expect([id, before.id]).not.toContain(anew)
    expect(await liveKeys('cut')).toHaveLength(2)
  })

  test('0361 destroy ends it all: keys revoked, the project suspended; applied again, it is resumed', async () => {
    const { id, admin_key } = terraform.attributes('switchyard_project', 'search')
    const said = await ok('destroy', '-auto-approve', ...VARIABLES)
    expect(said).toContain('Destroy complete!')
    expect(said).toContain('The project was suspended')
    expect((await api('GET', `/v2/operator/projects/${id}`)).status).toBe('suspended')
    expect(await api('GET', '/v2/operator/providers/vllm-eu')).toHaveProperty('error')
    expect(JSON.parse(terraform.read('terraform.tfstate')).resources).toEqual([])

    await apply('-target=switchyard_project.search')
    expect(terraform.attributes('switchyard_project', 'search')).toMatchObject({ id, admin_key, suspended: false })
    expect((await api('GET', `/v2/operator/projects/${id}`)).status).toBe('active')
    const { data } = await ofProject('GET', '/v2/api-keys')
    const live = data.filter(({ status }: { status: string }) => status === 'active')
    expect(live.map((one: { id: string }) => one.id)).toEqual([
      terraform.attributes('switchyard_project', 'search').admin_key_id,
    ])
  })
})
