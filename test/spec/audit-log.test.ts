// GET /v2/audit-log: every change is on record together with itself, and nothing else is.
import { describe, expect, onTestFinished, test } from 'vitest'
import { entryOf } from '../../src/audit/audit.ts'
import { auditStore } from '../../src/audit/audit-store.ts'
import { rfc3339 } from '../../src/core/clock.ts'
import { sql } from '../../src/storage/db.ts'
import { newEmail, newPerson, PASSWORD, settle, tokenIn, watched, withoutEdge } from '../support/browser.ts'
import { record, recordingSettings } from '../support/replays.ts'
import { scopeByRuling, walkOf } from '../support/routes.ts'
import { startService, type TestProject, type TestService, withService } from '../support/service.ts'
import { cutOffNextCommit, deferred, mutateSql, type Tampering, textOf } from '../support/tampered-db.ts'

const LOG = '/v2/audit-log'
const KEYS = '/v2/api-keys'

interface Entry {
  id: string
  actor: string
  action: string
  target?: string
  request_id: string
  created_at: string
}

const entriesOf = async ({ get }: Pick<TestProject, 'get'>, query = '') =>
  (await get(`${LOG}${query}`)).body.data as Entry[]

const verifyCredential = async () => 'active' as const
const settings = { ...withoutEdge(), gateway: recordingSettings().gateway }
const { mails, options } = watched({ tampering: {}, parts: { verifyCredential, settings } })

/** A change of each kind: the body it takes, and what must be there before. */
type Params = Readonly<Record<string, string>>

interface Change {
  body?: unknown
  make?: (project: Pick<TestProject, 'post' | 'send'>, service: TestService) => Promise<Params>
  /** R79: by whoever runs the service. */
  by?: 'operator'
}

const PLAN = { plan: 'pro', provider: 'openai', input_discount_pct: 20, allowance_tokens: 1_000 }

const UPSTREAM = { base_url: 'http://127.0.0.1:1/v1' } // nobody listens there
const CHANNEL = { kind: 'webhook', name: 'ops', url: 'https://example.com/hook' }
const TAG_BUDGET = { tag: 'team=search', limit_usd: 1 }

const CHANGES: Record<string, Change> = {
  'POST /v2/api-keys': { body: { name: 'ci' } },
  'DELETE /v2/api-keys/:key_id': { make: newKey },
  'POST /v2/api-keys/:key_id/budget': { make: newKey, body: { limit_usd: 5 } },
  'PATCH /v2/api-keys/:key_id': { make: newKey, body: { name: 'other' } },
  'POST /v2/api-keys/:key_id/rotate': { make: newKey, body: {} },
  'POST /v2/api-keys/:key_id/children': { make: newKey, body: { name: 'run', limit_usd: 1, ttl_seconds: 60 } },
  'POST /v2/api-keys/:key_id/limits': { make: newKey, body: { requests_per_minute: 10 } },
  'POST /v2/byoc/clusters': { body: { name: 'atlas', region: 'eu' } },
  'DELETE /v2/byoc/clusters/:cluster_id': { make: newCluster },
  'POST /v2/project/cap': { body: { limit_usd: 5 } },
  'POST /v2/project/name': { body: { name: 'harbour' } },
  'POST /v2/project/regions': { body: { allowed_regions: ['local'] } },
  'POST /v2/project/boundary': { body: { boundary: 'own_only' } },
  'POST /v2/project/second-factor': { body: { required: true } },
  'POST /v2/members/invitations': { body: { email: 'guest@example.com', role: 'viewer' } },
  'POST /v2/members/:person_id/role': { make: newMember, body: { role: 'viewer' } },
  'DELETE /v2/members/:person_id': { make: newMember },
  'POST /v2/aliases': { body: { name: 'fast', targets: [{ provider: 'openai', model: 'gpt-4o' }] } },
  'DELETE /v2/aliases/:name': { make: newAlias },
  'POST /v2/aliases/:name/boundary': { make: newAlias, body: { boundary: 'own_only' } },
  'POST /v2/aliases/:name/releases': {
    make: newAlias,
    body: { targets: [{ provider: 'openai', model: 'gpt-4o-mini' }] },
  },
  'POST /v2/alias-releases/:release_id/activate': { make: newRelease },
  'POST /v2/purge-jobs': { body: { filter: { trace_ids: ['trc_1'] } } },
  'POST /v2/purge-jobs/:purge_job_id/erase': { make: newPurgePlan },
  'POST /v2/purge-jobs/:purge_job_id/cancel': { make: newPurgePlan },
  'POST /v2/project/recordings': { body: { enabled: true } },
  'POST /v2/replay-runs': {
    make: newRecording,
    body: ({ trace_id }: Params) => ({ source: { trace_ids: [trace_id] }, target: { model: 'a-model' } }),
  },
  'POST /v2/replay-runs/:replay_run_id/execute': { make: newReplayPlan, body: { max_cost_usd: 1 } },
  'POST /v2/replay-runs/:replay_run_id/pause': { make: newReplayRun },
  'POST /v2/replay-runs/:replay_run_id/resume': { make: newPausedRun },
  'POST /v2/replay-runs/:replay_run_id/cancel': { make: newReplayPlan },
  'POST /v2/notification-channels': { body: CHANNEL },
  'PATCH /v2/notification-channels/:channel_id': { make: newChannel, body: { name: 'other' } },
  'DELETE /v2/notification-channels/:channel_id': { make: newChannel },
  'POST /v2/notification-channels/:channel_id/rotate-secret': { make: newChannel },
  'POST /v2/notification-channels/:channel_id/test': { make: newChannel },
  'POST /v2/notification-channels/:channel_id/deliveries/:delivery_id/redeliver': { make: newDelivery },
  'POST /v2/tag-budgets': { body: TAG_BUDGET },
  'PATCH /v2/tag-budgets/:tag_budget_id': { make: newTagBudget, body: { limit_usd: 2 } },
  'DELETE /v2/tag-budgets/:tag_budget_id': { make: newTagBudget },
  'POST /v2/provider-credentials': { body: { provider: 'openai', name: 'ours', secret: 'sk-of-our-own' } },
  'DELETE /v2/provider-credentials/:credential_id': { make: newCredential },
  'POST /v2/provider-credentials/:credential_id/verify': { make: newCredential },
  'POST /v2/subscriptions': { body: PLAN, by: 'operator' },
  'POST /v2/subscriptions/:subscription_id/cancel': { make: newSubscription, by: 'operator' },
  'POST /v2/operator/projects': { body: { name: 'quay', owner_email: 'quay@example.com' }, by: 'operator' },
  'POST /v2/operator/projects/:project_id/cap': { make: newTenant, body: { limit_usd: 5 }, by: 'operator' },
  'POST /v2/operator/projects/:project_id/share': { make: newTenant, body: { share: 2 }, by: 'operator' },
  'POST /v2/operator/projects/:project_id/quotas': { make: newTenant, body: { keys: 5 }, by: 'operator' },
  'POST /v2/operator/projects/:project_id/suspend': { make: newTenant, by: 'operator' },
  'POST /v2/operator/projects/:project_id/resume': { make: newTenant, by: 'operator' },
  'POST /v2/operator/projects/:project_id/subscriptions': { make: newTenant, body: PLAN, by: 'operator' },
  'POST /v2/operator/projects/:project_id/subscriptions/:subscription_id/cancel': {
    make: newTenantsSubscription,
    by: 'operator',
  },
  'POST /v2/operator/providers': { body: { ...UPSTREAM, id: 'quay' }, by: 'operator' },
  'PATCH /v2/operator/providers/:provider_id': {
    make: newProvider,
    body: { version: 1, region: 'eu' },
    by: 'operator',
  },
  'POST /v2/operator/providers/:provider_id/models': { make: newProvider, body: { version: 1 }, by: 'operator' },
  'POST /v2/operator/providers/:provider_id/drain': { make: newProvider, by: 'operator' },
  'POST /v2/operator/providers/:provider_id/resume': { make: newProvider, by: 'operator' },
  'DELETE /v2/operator/providers/:provider_id': { make: newProvider, by: 'operator' },
  'POST /v2/operator/providers/:provider_id/restore': {
    make: newProvider,
    body: { version: 1, to_version: 1 },
    by: 'operator',
  },
  'POST /v2/operator/providers/test': { body: { ...UPSTREAM, id: 'quay' }, by: 'operator' },
  'POST /v2/operator/providers/:provider_id/test': { make: newProvider, by: 'operator' },
}

withService((service) => {
  describe('every change', () => {
    const changing = (of: TestService) =>
      walkOf(of.routes).filter(
        (walk) =>
          !walk.isPublic &&
          walk.route.startsWith('/v2/') &&
          !['GET', 'HEAD'].includes(walk.method) &&
          (scopeByRuling(walk) === 'admin' || walk.route.endsWith('/children')),
      )

    test('every route that changes keys or settings leaves one entry: who, what, to which thing, in which request', async () => {
      const routes = changing(service()).map(({ method, route }) => `${method} ${route}`)
      const untried = routes.filter((route) => !(route in CHANGES))
      expect(untried).toEqual([])
      for (const route of routes) {
        const { body, make, by } = CHANGES[route] ?? {}
        const project = by ? await service().operator() : await service().newProject()
        const params = make ? await make(project, service()) : {}
        const before = await entriesOf(project)
        const [method = '', path = ''] = route.split(' ')
        const url = path.replace(/:(\w+)/g, (_whole, name: string) => encodeURIComponent(params[name] ?? ''))
        const asked = typeof body === 'function' ? body(params) : body
        const answer = await project.send(method, url, asked === undefined ? {} : { body: asked })
        expect(answer.status, `${route}: ${answer.bytes}`).toBe(200)
        const [entry, ...others] = await entriesOf(project)
        expect(others, route).toEqual(before)
        expect(entry, route).toEqual({
          id: expect.stringMatching(/^aud_/),
          object: 'audit_entry',
          actor: project.key_id,
          action: route.replace(/:(\w+)/g, '{$1}'),
          target: answer.body.id ?? Object.values(params)[0],
          request_id: answer.headers['x-request-id'],
          created_at: service().clock.rfc3339(),
        })
      }
      await withoutProviders(service())
    })

    test('R79 what the operator does to a project is on record there too, in the same request, and names no key', async () => {
      const operators = Object.entries(CHANGES).filter(([route]) => route.startsWith('POST /v2/operator/projects'))
      expect(operators.length).toBeGreaterThan(7)
      for (const [route, { body, make }] of operators) {
        const operator = await service().operator()
        const params = make ? await make(operator, service()) : {}
        const path = route.slice('POST '.length).replace(/:(\w+)/g, (_whole, name: string) => params[name] ?? '')
        const asked = route.endsWith('/projects') ? { name: 'dock', owner_email: 'dock@example.com' } : body
        const answer = await operator.post(path, asked)
        const project_id = params.project_id ?? answer.body.id
        const [latest] = await service().db.rows<Entry>(sql`
          SELECT actor, action, target, request_id FROM audit_entry WHERE project_id = ${project_id}
          ORDER BY sequence DESC LIMIT 1`)
        expect(latest, route).toEqual({
          actor: 'operator',
          action: route.replace(/:(\w+)/g, '{$1}'),
          target: answer.body.id ?? params.project_id,
          request_id: answer.headers['x-request-id'],
        })
      }
    })

    test('what is refused, what is only read and what only generates leave none', async () => {
      const project = await service().newProject()
      await project.post(KEYS, { name: ' ' })
      await project.del(`${KEYS}/key_unknown`)
      await project.get(KEYS)
      await project.post('/v2/byoc/hicache-plan', {})
      await project.post('/v2/agent-hints', { hints: {} })
      await service()
        .as(await project.keyWith('read'))
        .post(KEYS, { name: 'x' })
      expect(await entriesOf(project)).toEqual([])
    })

    test('§11 a change that is repeated under its key is one change, and one entry', async () => {
      const project = await service().newProject()
      const create = () => project.post(KEYS, { name: 'ci' }, { 'agent-idempotency-key': 'once' })
      const [first, again] = [await create(), await create()]
      expect(again.headers['agent-idempotent-replay']).toBe('true')
      const entries = await entriesOf(project)
      expect(entries.map(({ target }) => target)).toEqual([first.body.id])
      expect(entries[0]?.request_id).toBe(first.headers['x-request-id'])
    })

    test('what a person did is on record under the person', async () => {
      const person = await newPerson(service(), mails)
      await person.post(KEYS, { name: 'ci' })
      const [latest] = await entriesOf(person)
      expect([latest?.actor, latest?.action]).toEqual([person.person_id, 'POST /v2/api-keys'])
    })

    test('what somebody does to their account is on record in their projects, and in no other', async () => {
      const [person, other] = [await newPerson(service(), mails), await newPerson(service(), mails)]
      const told = async (by: Pick<TestProject, 'get'>) => (await entriesOf(by)).map(({ action }) => action)
      expect(await told(person)).toEqual(['POST /auth/login', 'POST /auth/verify-email', 'POST /auth/signup'])
      await person.post(`/v2/members/invitations`, { email: other.email, role: 'viewer' })
      await settle(service())
      const token = tokenIn(mails.findLast((mail) => mail.to === other.email))
      await other.post('/auth/accept-invitation', { token })
      const [accepted] = await entriesOf(person)
      expect([accepted?.actor, accepted?.action]).toEqual([other.person_id, 'POST /auth/accept-invitation'])
    })

    test('no entry holds a body, a key, an address or a password', async () => {
      const person = await newPerson(service(), mails)
      const { key } = (await person.post(KEYS, { name: 'a name of its own' })).body
      await person.post('/v2/provider-credentials', { provider: 'openai', name: 'ours', secret: 'sk-of-our-own' })
      const email = newEmail()
      await person.post('/v2/members/invitations', { email, role: 'viewer' })
      const rows = JSON.stringify(await service().db.rows(sql`SELECT * FROM audit_entry`))
      const secrets = [key, key.slice(9, 30), 'a name of its own', 'sk-of-our-own', email, PASSWORD, person.email]
      expect(secrets.filter((secret) => rows.includes(secret))).toEqual([])
    })
  })

  describe('one transaction', () => {
    /** Creates a key while the store does something; what is then there of the key and of its entry. */
    async function afterwards(of: TestService, keyed: boolean, meanwhile: () => void) {
      const project = await of.newProject()
      meanwhile()
      const { status } = await project.post(KEYS, { name: 'ci' }, keyed ? { 'agent-idempotency-key': 'a' } : undefined)
      of.tampering.rows = undefined
      const keys = (await project.get(KEYS)).body.data.length - 1
      return { status, keys, entries: (await entriesOf(project)).length }
    }
    const failOn = (tampering: Tampering, start: string) => {
      tampering.rows = (statement, run) =>
        textOf(statement).startsWith(start) ? Promise.reject(new Error('planted')) : run(statement)
    }

    test.each([true, false])('R21 (keyed: %s) both are there, or neither is', async (keyed) => {
      const { tampering } = service()
      const none = { keys: 0, entries: 0 }
      expect(await afterwards(service(), keyed, () => {})).toEqual({ status: 200, keys: 1, entries: 1 })
      const noEntry = () => failOn(tampering, 'INSERT INTO audit_entry')
      expect(await afterwards(service(), keyed, noEntry)).toEqual({ status: 500, ...none })
      const noKey = () => failOn(tampering, 'INSERT INTO api_key')
      expect(await afterwards(service(), keyed, noKey)).toEqual({ status: 500, ...none })
      const lost = await afterwards(service(), keyed, () => cutOffNextCommit(tampering, false))
      expect(lost).toEqual({ status: 503, ...none })
    })

    test('R21 where the effect lies outside, the entry comes first, and goes if nothing happened', async () => {
      const project = await service().newProject()
      const { credential_id = '' } = await newCredential(project)
      const verify = () => project.post(`/v2/provider-credentials/${credential_id}/verify`)
      failOn(service().tampering, 'INSERT INTO audit_entry')
      expect((await verify()).status).toBe(500)
      service().tampering.rows = undefined
      const [{ status } = { status: '' }] = await service().db.rows<{ status: string }>(sql`
        SELECT status FROM provider_credential WHERE id = ${credential_id}`)
      expect(status).toBe('active')
      const before = await entriesOf(project)
      expect((await project.post('/v2/provider-credentials/unknown/verify')).status).toBe(404)
      expect(await entriesOf(project)).toEqual(before)
    })

    test('R21 planted: an entry that is written beside the transaction is caught', async () => {
      const tampering: Tampering = {}
      const watch = watched({ tampering })
      const broken = await startService(watch.options)
      const project = await broken.newProject()
      tampering.rows = async (statement, run) => {
        if (!textOf(statement).startsWith('INSERT INTO audit_entry')) return run(statement)
        return [] // as if it were left for later, and the process died
      }
      expect((await project.post(KEYS, { name: 'ci' })).status).toBe(200)
      tampering.rows = undefined
      expect(await entriesOf(project)).toEqual([])
    })
  })

  describe('reading', () => {
    test('§8.2 newest first, by action, actor and time, at most as many as asked for', async () => {
      const { clock } = service()
      const project = await service().newProject()
      const other = service().as(await project.keyWith('admin'))
      const times: string[] = []
      for (const by of [project, other, project]) {
        times.push(clock.rfc3339())
        await by.post(KEYS, { name: 'ci' })
        await by.post('/v2/project/cap', { limit_usd: 1 })
        clock.advance(1_000)
      }
      const actions = async (query: string) =>
        (await entriesOf(project, query)).map(({ action, created_at }) => [action.split('/')[2], created_at])
      const [first = '', second = '', third = ''] = times
      expect(await actions('')).toEqual([
        ['project', third],
        ['api-keys', third],
        ['project', second],
        ['api-keys', second],
        ['project', first],
        ['api-keys', first],
      ])
      expect(await actions(`?action=${encodeURIComponent('POST /v2/api-keys')}&limit=2`)).toEqual([
        ['api-keys', third],
        ['api-keys', second],
      ])
      expect(await actions(`?actor=${project.key_id}&from=${second}`)).toEqual([
        ['project', third],
        ['api-keys', third],
      ])
      expect(await actions(`?from=${second}&to=${third}`)).toEqual([
        ['project', second],
        ['api-keys', second],
      ])
      expect(await actions('?actor=key_unknown')).toEqual([])
    })

    test('§4.15 an erasure is on record as one, whether it was planned before or not', async () => {
      const project = await service().newProject()
      const filter = { trace_ids: ['trc_1'] }
      const { id: planned } = (await project.post('/v2/purge-jobs', { filter })).body
      const { id: at_once } = (await project.post('/v2/purge-jobs', { filter, mode: 'erase' })).body
      const erase = 'POST /v2/purge-jobs/{purge_job_id}/erase'
      const made = (await entriesOf(project)).map(({ action, target }) => [action, target])
      expect(made).toEqual([
        [erase, at_once],
        ['POST /v2/purge-jobs', planned],
      ])
      expect(await entriesOf(project, `?action=${encodeURIComponent(erase)}`)).toHaveLength(1)
    })

    test('§8.2 pages are the log, each entry once, also those of one moment', async () => {
      const project = await service().newProject()
      for (let n = 0; n < 5; n++) await project.post('/v2/project/cap', { limit_usd: n })
      await service().db.rows(sql`UPDATE audit_entry SET sequence = 1 WHERE project_id = ${project.project.id}`)
      const whole = await project.get(LOG)
      expect([whole.body.has_more, whole.body.data.length]).toEqual([false, 5])
      const pages: Entry[][] = []
      for (let query = '?limit=2'; query; ) {
        const { data, has_more } = (await project.get(`${LOG}${query}`)).body
        pages.push(data)
        query = has_more ? `?limit=2&after=${data.at(-1).id}` : ''
      }
      expect(pages.map(({ length }) => length)).toEqual([2, 2, 1])
      expect(pages.flat()).toEqual(whole.body.data)
      expect((await project.get(`${LOG}?limit=5`)).body.has_more).toBe(false)
    })

    test('R78 what is rare is found among many, and no statement looks at more than a window of them', async () => {
      const [{ project, get }, { tampering, clock, db }] = [await service().newProject(), service()]
      const rare = [0, 1, 1_999, 2_000, 2_001, 4_499]
      await db.transaction(async (tx) => {
        for (let n = 0; n < 4_500; n++) {
          const [who, what] = rare.includes(n) ? ['key_rare', 'rare'] : ['key_usual', 'usual']
          const deed = { project_id: project.id, actor: who, action: what, target: `t${n}`, request_id: 'r' }
          await auditStore(tx).insert(entryOf(deed, clock.now() + Math.floor(n / 3)))
        }
      })
      const looked: number[] = []
      // All that it would look at, were nothing of it what is asked for.
      tampering.rows = async (statement, run) => {
        if (textOf(statement).includes('FROM audit_entry') && / (action|actor) = /.test(textOf(statement))) {
          const text = statement.text.map((part) => part.replace(/(action|actor) = $/, '$1 <> '))
          looked.push((await run({ ...statement, text, values: [...statement.values.slice(0, -1), 1e6] })).length)
        }
        return run(statement)
      }
      onTestFinished(() => void delete tampering.rows)
      const targets = async (query: string) => (await entriesOf({ get }, query)).map(({ target }) => target)
      const newest = rare.toReversed().map((n) => `t${n}`)
      expect(await targets('?action=rare')).toEqual(newest)
      expect(await targets('?actor=key_rare')).toEqual(newest)
      expect(await targets('?actor=key_usual&action=rare')).toEqual([])
      expect((await targets('?action=usual')).length).toBe(4_494)
      const [{ id } = { id: '' }] = await entriesOf({ get }, '?action=rare&limit=1')
      expect(await targets(`?action=rare&after=${id}&limit=3`)).toEqual(newest.slice(1, 4))
      const from = rfc3339(clock.now() + 667) // of the three of this moment the first is rare
      expect(await targets(`?action=rare&from=${from}`)).toEqual(['t4499', 't2001'])
      expect(Math.max(...looked)).toBeGreaterThan(1_000)
      expect(Math.max(...looked)).toBeLessThanOrEqual(2_000)
    })

    const logOf = async (entries: number) => {
      const [home, { clock, db }] = [await service().newProject(), service()]
      await db.transaction(async (tx) => {
        for (let n = 0; n < entries; n++) {
          const deed = { project_id: home.project.id, actor: 'key_1', action: 'usual', request_id: 'r' }
          await auditStore(tx).insert(entryOf(deed, clock.now() + n))
        }
      })
      return home
    }

    test('R78 whoever asks for a few is looked for as many, and for one that says that there are more', async () => {
      const { get } = await logOf(200)
      const asked: unknown[] = []
      onTestFinished(() => void delete service().tampering.rows)
      service().tampering.rows = (statement, run) => {
        if (/FROM audit_entry .* action = /.test(textOf(statement))) asked.push(statement.values.at(-1))
        return run(statement)
      }
      for (const limit of [1, 2, 99, 100, 150]) {
        const { data, has_more } = (await get(`${LOG}?action=usual&limit=${limit}`)).body
        expect([data.length, has_more]).toEqual([limit, true])
      }
      expect(asked).toEqual([2, 3, 100, 100, 100, 100, 100])
    })

    test('R78 nobody looks on for a client that has left', async () => {
      const { get, key } = await logOf(4_100)
      const [socket, { app, tampering }] = [await (await service().listen()).open(), service()]
      const left = deferred()
      app.server.once('request', (_request, response) => response.once('close', left.resolve))
      let windows = 0
      onTestFinished(() => void delete tampering.rows)
      tampering.rows = async (statement, run) => {
        if (/FROM audit_entry .* action = /.test(textOf(statement)) && ++windows === 1) {
          socket.destroy()
          await left.promise
        }
        return run(statement)
      }
      socket.write(`GET ${LOG}?action=rare HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key}\r\n\r\n`)
      await left.promise
      expect((await get(`${LOG}?action=rare`)).body.data).toEqual([])
      expect(windows).toBe(1 + 3) // the second search is behind what the first would have looked at
    })

    test('§5.8 400 on a cursor that is another project’s entry', async () => {
      const [home, other] = [await service().newProject(), await service().newProject()]
      await other.post(KEYS, { name: 'theirs' })
      const [theirs] = await entriesOf(other)
      const { status, body } = await home.get(`${LOG}?after=${theirs?.id}`)
      expect([status, body.error.message]).toEqual([400, expect.stringContaining("'after'")])
    })

    test.each([
      'limit=0',
      'limit=ten',
      'after=aud_unknown',
      'after=%00',
      'limit=10001',
      'from=yesterday',
      'to=2026-02-30T00:00:00Z',
      'actor=%00',
    ])('400 on %s', async (query) => {
      const { get } = await service().newProject()
      expect((await get(`${LOG}?${query}`)).status).toBe(400)
    })

    test('§5.8 another project’s entries are not there; planted: a query without the project is caught', async () => {
      const [home, other] = [await service().newProject(), await service().newProject()]
      await other.post(KEYS, { name: 'theirs' })
      expect(await entriesOf(home)).toEqual([])
      mutateSql(service().tampering, 'WHERE project_id = ', "WHERE '' <> ", /FROM audit_entry/)
      expect(await entriesOf(home)).not.toEqual([])
      service().tampering.rows = undefined
    })
  })
}, options)

async function newKey({ post }: Pick<TestProject, 'post'>) {
  return { key_id: (await post(KEYS, { name: 'other' })).body.id as string }
}

async function newCluster({ post }: Pick<TestProject, 'post'>) {
  return { cluster_id: (await post('/v2/byoc/clusters', { name: 'atlas', region: 'eu' })).body.id as string }
}

async function newPurgePlan({ post }: Pick<TestProject, 'post'>) {
  const { id } = (await post('/v2/purge-jobs', { filter: { trace_ids: ['trc_1'] } })).body
  return { purge_job_id: id }
}

async function newRecording(project: Pick<TestProject, 'send'>) {
  const body = { model: 'a-model', messages: [{ role: 'user', content: 'hi' }] }
  return { trace_id: await record(project, '/v1/chat/completions', body) }
}

async function newReplayPlan(project: Pick<TestProject, 'post' | 'send'>) {
  const { trace_id } = await newRecording(project)
  const plan = { source: { trace_ids: [trace_id] }, target: { model: 'a-model' } }
  return { replay_run_id: (await project.post('/v2/replay-runs', plan)).body.id as string }
}

async function newReplayRun(project: Pick<TestProject, 'post' | 'send'>) {
  const params = await newReplayPlan(project)
  await project.post(`/v2/replay-runs/${params.replay_run_id}/execute`, { max_cost_usd: 1 })
  return params
}

async function newPausedRun(project: Pick<TestProject, 'post' | 'send'>) {
  const params = await newReplayRun(project)
  await project.post(`/v2/replay-runs/${params.replay_run_id}/pause`)
  return params
}

async function newAlias({ post }: Pick<TestProject, 'post'>) {
  await post('/v2/aliases', { name: 'fast', targets: [{ provider: 'openai', model: 'gpt-4o' }] })
  return { name: 'fast' }
}

async function newRelease(project: Pick<TestProject, 'post'>) {
  await newAlias(project)
  const release = await project.post('/v2/aliases/fast/releases', {
    targets: [{ provider: 'openai', model: 'gpt-4o-mini' }],
  })
  return { release_id: release.body.id as string }
}

async function newChannel({ post }: Pick<TestProject, 'post'>) {
  return { channel_id: (await post('/v2/notification-channels', CHANNEL)).body.id }
}

async function newDelivery(project: Pick<TestProject, 'post'>) {
  const { channel_id } = await newChannel(project)
  const { id: delivery_id } = (await project.post(`/v2/notification-channels/${channel_id}/test`)).body
  return { channel_id, delivery_id }
}

async function newTagBudget({ post }: Pick<TestProject, 'post'>) {
  return { tag_budget_id: (await post('/v2/tag-budgets', TAG_BUDGET)).body.id }
}

async function newCredential({ post }: Pick<TestProject, 'post'>) {
  const body = { provider: 'openai', name: 'ours', secret: 'sk-of-our-own' }
  return { credential_id: (await post('/v2/provider-credentials', body)).body.id as string }
}

async function newSubscription({ post }: Pick<TestProject, 'post'>) {
  return { subscription_id: (await post('/v2/subscriptions', PLAN)).body.id as string }
}

async function newTenant(_operator: Pick<TestProject, 'post'>, service: TestService) {
  return { project_id: (await service.newProject()).project.id }
}

async function newTenantsSubscription({ post }: Pick<TestProject, 'post'>, service: TestService) {
  const { project_id } = await newTenant({ post }, service)
  const made = await post(`/v2/operator/projects/${project_id}/subscriptions`, PLAN)
  return { project_id, subscription_id: made.body.id as string }
}

async function newMember(project: Pick<TestProject, 'post'>, service: TestService) {
  const email = newEmail()
  await project.post('/v2/members/invitations', { email, role: 'member' })
  await settle(service)
  const token = tokenIn(mails.findLast((mail) => mail.to === email))
  await service.as().post('/auth/accept-invitation', { token, password: PASSWORD })
  const [person] = await service.db.rows<{ id: string }>(sql`SELECT id FROM person WHERE email = ${email}`)
  return { person_id: person?.id ?? '' }
}

let providers = 0

async function newProvider({ post }: Pick<TestProject, 'post'>): Promise<Params> {
  const { body } = await post('/v2/operator/providers', { ...UPSTREAM, id: `provider-${++providers}` })
  return { provider_id: body.id }
}

/** The other tests have the placeholder answer. */
async function withoutProviders(service: TestService): Promise<void> {
  const { get, del } = await service.operator()
  for (const { id, source } of (await get('/v2/operator/providers')).body.data)
    if (source === 'api') await del(`/v2/operator/providers/${id}?force=true`)
}
