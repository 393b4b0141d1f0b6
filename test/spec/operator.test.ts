// R79: what belongs to whoever runs the service, and to nobody else.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { DAY_MS, HOUR_MS, rfc3339 } from '../../src/core/clock.ts'
import { keyStore } from '../../src/keys/key-store.ts'
import { foundProject } from '../../src/start/bootstrap.ts'
import { sql, together } from '../../src/storage/db.ts'
import { usageRollups } from '../../src/usage/usage-rollup-store.ts'
import { usageStore } from '../../src/usage/usage-store.ts'
import { NOON } from '../support/clock.ts'
import { contentsOf } from '../support/databases.ts'
import { walkOf } from '../support/routes.ts'
import { type Answer, startService, type TestService, withService } from '../support/service.ts'
import { usageEvent } from '../support/usage-events.ts'

const PROJECTS = '/v2/operator/projects'
const USAGE = '/v2/operator/usage'
const PLAN = { plan: 'pro', provider: 'openai', input_discount_pct: 20, allowance_tokens: 1_000 }
const identity = ({ status, body }: Answer) => [status, body.error?.type, body.error?.code]
const FORBIDDEN = [403, 'insufficient_scope', 'insufficient_scope']
const SUSPENDED = [403, 'project_suspended', 'project_suspended']

withService((service) => {
  const plane = (of: TestService) =>
    walkOf(of.routes).filter(({ route, method }) => route.startsWith('/v2/operator/') && method !== 'HEAD')

  async function both() {
    const operator = await service().operator()
    const tenant = await service().newProject()
    return { operator, tenant, at: `${PROJECTS}/${tenant.project.id}` }
  }

  describe('who', () => {
    test('R79 403 for the admin of any other project, on every path and whatever it names, in the same words', async () => {
      const { operator, tenant } = await both()
      const before = await contentsOf(service().db)
      const told = new Set<string>()
      expect(plane(service()).length).toBeGreaterThan(12)
      for (const { method, route } of plane(service()))
        for (const id of [tenant.project.id, operator.project_id, 'prj_unknown', '%00'])
          for (const body of [undefined, {}, { limit_usd: 'x' }]) {
            const url = route.replace(':project_id', id).replace(':subscription_id', 'sub_x')
            const headers = { 'agent-idempotency-key': 'a' }
            const answer = await tenant.send(method, url, { headers, ...(method === 'POST' && { body }) })
            expect(identity(answer), `${method} ${url}`).toEqual(FORBIDDEN)
            told.add(answer.bytes.toString())
          }
      expect([...told]).toHaveLength(1)
      expect(await contentsOf(service().db)).toBe(before)
    })

    test('R79 a path that does not exist is 404 for everybody, as everywhere', async () => {
      const { operator, tenant } = await both()
      for (const { get } of [operator, tenant, service().as()])
        expect((await get('/v2/operator/nothing')).status).toBe(404)
    })

    test('R79 the operator is told of a project that nobody has: 404, and nothing is stored', async () => {
      const { operator } = await both()
      const bodies: Record<string, object> = { share: { share: 2 }, subscriptions: PLAN }
      for (const { method, route } of plane(service()).filter((walk) => walk.route.includes(':project_id'))) {
        const url = route.replace(':project_id', 'prj_unknown').replace(':subscription_id', 'sub_x')
        const body = bodies[route.split('/').at(-1) ?? ''] ?? {}
        const answer = await service().storingNothing(() =>
          operator.send(method, url, method === 'POST' ? { body } : {}),
        )
        expect(identity(answer), url).toEqual([404, 'invalid_request_error', undefined])
      }
    })

    test('R79 a project is told whether it runs the service', async () => {
      const { operator, tenant } = await both()
      const told = async ({ get }: { get: (url: string) => Promise<Answer> }) => [
        (await get('/v2/project')).body.is_operator,
        (await get(PROJECTS)).status,
      ]
      expect([await told(operator), await told(tenant)]).toEqual([
        [true, 200],
        [undefined, 403],
      ])
    })

    test('R79 it is the project that was founded first, also where a clock that was set back makes another older', async () => {
      const of = await startService()
      of.clock.advance(-30 * DAY_MS)
      await of.db.rows(sql`UPDATE project SET sequence = sequence + 1000000`)
      const later = await foundProject(
        of.db,
        { name: 'b', owner_email: 'b@example.com', verified: true },
        NOON - DAY_MS,
      )
      expect((await of.get(PROJECTS)).status).toBe(200)
      expect(identity(await of.as(later.key.raw).get(PROJECTS))).toEqual(FORBIDDEN)
    })
  })

  describe('projects', () => {
    test('R79 200: created with an owner and an admin key that works; once, under its idempotency key', async () => {
      const { operator } = await both()
      const body = { name: ' quay ', owner_email: 'Quay@Example.com', verified: true }
      const create = () => operator.post(PROJECTS, body, { 'agent-idempotency-key': 'quay' })
      const [made, again] = [await create(), await create()]
      expect(again.bytes).toEqual(made.bytes)
      const { api_key, ...project } = made.body
      expect(project).toEqual({
        id: expect.stringMatching(/^prj_/),
        object: 'project',
        name: 'quay',
        status: 'active',
        owner_email: 'quay@example.com',
        owner_verified: true,
        created_at: service().clock.rfc3339(),
        overage_enabled: false,
        share: 1,
        spent_micros: 0,
        held_micros: 0,
      })
      expect((await operator.get(`${PROJECTS}/${project.id}`)).body).toEqual(project)
      const own = service().as(api_key.key)
      expect((await own.get('/v2/project')).body).toMatchObject({ id: project.id, name: 'quay' })
      expect((await own.post('/v2/api-keys', { name: 'ci' })).status).toBe(200)
      expect(identity(await own.get(PROJECTS))).toEqual(FORBIDDEN)
    })

    test.each([
      ['no name', { name: undefined }, 'name'],
      ['a blank name', { name: ' ' }, 'name'],
      ['no address', { owner_email: 'ada' }, 'owner_email'],
      ['text for verified', { verified: 'yes' }, 'verified'],
      ['a name that the owner uses already', { name: 'taken' }, 'name'],
    ])('R9 400 on %s, naming the field, and nothing is stored', async (_case, wrong, field) => {
      const { operator } = await both()
      const asked = { name: 'taken', owner_email: 'taken@example.com' }
      await operator.post(PROJECTS, asked)
      const answer = await service().storingNothing(() => operator.post(PROJECTS, { ...asked, name: 'new', ...wrong }))
      expect([answer.status, answer.body.error.message]).toEqual([400, expect.stringContaining(`'${field}'`)])
    })

    test('R70 200: the list is whole, newest first, and names the operator’s own', async () => {
      const { operator, tenant } = await both()
      const { data, has_more } = (await operator.get(PROJECTS)).body
      const [{ count } = { count: 0 }] = await service().db.rows<{ count: number }>(
        sql`SELECT COUNT(*) AS count FROM project`,
      )
      expect([data.length, has_more, data[0].id]).toEqual([Number(count), false, tenant.project.id])
      const marked = data.filter((one: { is_operator?: true }) => one.is_operator)
      expect(marked.map(({ id }: { id: string }) => id)).toEqual([operator.project_id])
    })

    test('R79 200: share and cap are set, kept by an empty body, and cleared; its own keys see the cap', async () => {
      const { operator, tenant, at } = await both()
      expect((await operator.post(`${at}/cap`, { limit_usd: 8.2 })).body.operator_cap_micros).toBe(8_200_000)
      expect((await operator.post(`${at}/cap`, {})).body.operator_cap_micros).toBe(8_200_000)
      expect((await tenant.post('/v2/project/cap', { limit_usd: 100 })).body).toMatchObject({
        cap_micros: 100_000_000,
        operator_cap_micros: 8_200_000,
      })
      expect((await operator.post(`${at}/cap`, { limit_usd: null })).body).not.toHaveProperty('operator_cap_micros')
      expect((await operator.post(`${at}/share`, { share: 3 })).body.share).toBe(3)
      const { hash } = (
        await service().db.rows<{ hash: string }>(sql`SELECT hash FROM api_key WHERE id = ${tenant.key_id}`)
      )[0]!
      expect((await keyStore(service().db).findHolder(hash, service().clock.now()))?.share).toBe(3)
    })

    test.each([
      ['cap', { limit_usd: -1 }, 'limit_usd'],
      ['cap', { limit_usd: '5' }, 'limit_usd'],
      ['share', {}, 'share'],
      ['share', { share: 0 }, 'share'],
      ['share', { share: 1.5 }, 'share'],
      ['share', { share: 1_001 }, 'share'],
      ['quotas', { keys: -1 }, 'keys'],
      ['quotas', { keys: '5' }, 'keys'],
      ['subscriptions', { ...PLAN, input_discount_pct: 101 }, 'input_discount_pct'],
      ['subscriptions', { ...PLAN, provider: 'opnai' }, 'provider'],
    ])('R9 400 on %s %j, and nothing is stored', async (path, body, field) => {
      const { operator, at } = await both()
      const answer = await service().storingNothing(() => operator.post(`${at}/${path}`, body))
      expect([answer.status, answer.body.error.message]).toEqual([400, expect.stringContaining(`'${field}'`)])
    })
  })

  describe('suspension', () => {
    /** What each key of a project is told, here and in another process. */
    const told = async (keys: readonly string[], other: Pick<TestService, 'as'>, path = '/v2/api-keys') =>
      Promise.all(
        [service(), other].flatMap(({ as }) => keys.map(async (key) => identity(await as(key).get(path)).join(' '))),
      )

    test('R79 403 project_suspended from the next request on, in every process; what admins read of its usage stays', async () => {
      const { operator, tenant, at } = await both()
      const other = await service().startProcess('other')
      const keys = [tenant.key, await tenant.keyWith('inference'), await tenant.keyWith('read')]
      expect(new Set(await told(keys, other))).toEqual(new Set(['200  ']))
      const { body } = await operator.post(`${at}/suspend`)
      expect([body.status, body.suspended_at]).toEqual(['suspended', service().clock.rfc3339()])
      expect(new Set(await told(keys, other))).toEqual(new Set([SUSPENDED.join(' ')]))
      for (const path of ['/v2/usage', '/v2/usage?group_by=day', '/v2/requests', '/v2/project', '/v2/audit-log'])
        expect(
          (await told(keys, other, path)).map((one) => one.slice(0, 3)),
          path,
        ).toEqual(Array(2).fill(['200', '403', '403']).flat())
      expect((await tenant.get('/v2/project')).body.suspended_at).toBe(body.suspended_at)
      expect((await operator.post(`${at}/resume`)).body.status).toBe('active')
      expect(new Set(await told(keys, other))).toEqual(new Set(['200  ']))
    })

    const contract = readFileSync(new URL('../../docs/CONTRACT.md', import.meta.url), 'utf8')
    /** The paths that the contract names as open to an admin of a suspended project. */
    const openIn = (text: string) => {
      const sentence = /\*\*A suspended project\*\*.*?an admin can still read(.*?)\.\s/s.exec(text)?.[1] ?? ''
      return [...sentence.matchAll(/`(?:GET )?(\/[^`]+)`/g)].map(([, url]) => ({ method: 'GET', url: url as string }))
    }

    test('§4.10 the contract names every route that an admin of a suspended project can read, and no other', () => {
      const open = walkOf(service().routes.filter(({ config }) => config?.while_suspended))
        .filter(({ method }) => method !== 'HEAD')
        .map(({ method, route: url }) => ({ method, url }))
      const byUrl = (one: { url: string }, other: { url: string }) => one.url.localeCompare(other.url)
      expect(openIn(contract).sort(byUrl)).toEqual(open.sort(byUrl))
    })

    test('R79 every route but those answers so, and nothing is stored', async () => {
      const { operator, tenant, at } = await both()
      await operator.post(`${at}/suspend`)
      const open = openIn(contract).map(({ url }) => url)
      const closed = walkOf(service().routes).filter(
        ({ isPublic, method, route }) => !isPublic && !(['GET', 'HEAD'].includes(method) && open.includes(route)),
      )
      const before = await contentsOf(service().db)
      for (const { method, url } of closed) {
        const answer = await tenant.send(method, url)
        expect(answer.status, `${method} ${url}`).toBe(403)
        if (method === 'HEAD') continue
        if (url.startsWith('/anthropic/'))
          expect(answer.body.error, url).toMatchObject({ type: 'permission_error' }) // R81
        else expect(identity(answer), `${method} ${url}`).toEqual(SUSPENDED)
      }
      expect(await contentsOf(service().db)).toBe(before)
    })

    test('R79 suspending twice keeps the first time; a kept answer is not replayed meanwhile', async () => {
      const { operator, tenant, at } = await both()
      const create = () => tenant.post('/v2/api-keys', { name: 'ci' }, { 'agent-idempotency-key': 'a' })
      expect((await create()).status).toBe(200)
      const first = (await operator.post(`${at}/suspend`)).body
      service().clock.advance(HOUR_MS)
      expect((await operator.post(`${at}/suspend`)).body).toEqual(first)
      expect(identity(await create())).toEqual(SUSPENDED)
      await operator.post(`${at}/resume`)
      expect((await create()).headers['agent-idempotent-replay']).toBe('true')
    })

    test('R79 400: the operator’s own project is not suspended, and nothing is stored', async () => {
      const { operator } = await both()
      const suspend = () => operator.post(`${PROJECTS}/${operator.project_id}/suspend`)
      expect(identity(await service().storingNothing(suspend))).toEqual([400, 'invalid_request_error', undefined])
      expect((await operator.get(PROJECTS)).status).toBe(200)
    })
  })

  describe('quotas', () => {
    test('R79 what the operator says for one project holds for its next request in every process; null takes it back', async () => {
      const { operator, tenant, at } = await both()
      const other = (await service().startProcess('other')).as(tenant.key)
      const hint = (by: { post: (url: string, body: unknown) => Promise<Answer> }) =>
        by.post('/v2/agent-hints', { qos: {} })
      const { body } = await operator.post(`${at}/quotas`, { hints: 2 })
      expect([body.hints, body.keys, body.effective.hints, body.effective.keys]).toEqual([2, null, 2, 100_000])
      expect((await operator.get(`${at}/quotas`)).body).toEqual(body)
      expect([(await hint(other)).status, (await hint(tenant)).status]).toEqual([200, 200])
      const refused = await service().storingNothing(() => hint(other))
      expect(identity(refused)).toEqual([429, 'quota_exceeded', 'quota_exceeded'])
      expect(refused.body.error.message).toContain('as many hints as it may have (2)')
      await operator.post(`${at}/quotas`, { hints: 3 })
      expect([(await hint(other)).status, (await hint(tenant)).status]).toEqual([200, 429])
      expect((await operator.post(`${at}/quotas`, { hints: null })).body.effective.hints).toBe(10_000)
      expect((await hint(tenant)).status).toBe(200)
      expect((await hint(await service().newProject())).status).toBe(200)
    })

    test('R79 a quota holds of what was there before it: counted, not taken for none', async () => {
      const { operator, tenant, at } = await both()
      const create = async () => (await tenant.post('/v2/api-keys', { name: 'ci' })).status
      await operator.post(`${at}/quotas`, { keys: 1 })
      expect([await create(), await create()]).toEqual([429, 429])
      await operator.post(`${at}/quotas`, { keys: 2 })
      expect([await create(), await create()]).toEqual([200, 429])
      await operator.post(`${at}/quotas`, { keys: 3 })
      expect([await create(), await create()]).toEqual([200, 429])
    })

    test('R79 a quota of 0 lets none be made', async () => {
      const { operator, tenant, at } = await both()
      await operator.post(`${at}/quotas`, { sessions: 0 })
      expect((await service().storingNothing(() => tenant.post('/v2/sessions', {}))).status).toBe(429)
    })
  })

  describe('subscriptions', () => {
    test('R79 200: added, listed and cancelled for a project, which reads them', async () => {
      const { operator, tenant, at } = await both()
      const made = (await operator.post(`${at}/subscriptions`, PLAN)).body
      expect([made.project_id, made.input_discount_pct]).toEqual([tenant.project.id, 20])
      expect((await operator.get(`${at}/subscriptions`)).body.data).toEqual([made])
      expect((await tenant.get('/v2/subscriptions')).body.data).toEqual([made])
      const ended = (await operator.post(`${at}/subscriptions/${made.id}/cancel`)).body
      expect(ended).toEqual({ ...made, status: 'canceled' })
      expect((await tenant.get('/v2/subscriptions')).body.data).toEqual([ended])
    })

    test('§5.8 404: another project’s subscription is not cancelled by the wrong project’s path', async () => {
      const { operator, at } = await both()
      const made = (await operator.post(`${at}/subscriptions`, PLAN)).body
      const elsewhere = `${PROJECTS}/${operator.project_id}/subscriptions/${made.id}/cancel`
      expect((await service().storingNothing(() => operator.post(elsewhere))).status).toBe(404)
    })
  })
})

describe('R79 usage over all projects', () => {
  async function used() {
    const of = await startService()
    const [b, c] = [await of.newProject(), await of.newProject()]
    const usage = usageStore(of.db)
    const event = (project_id: string, more: Parameters<typeof usageEvent>[1]) =>
      usage.insert(usageEvent(project_id, more))
    await event(of.project.id, { charged_micros: 5 })
    await event(b.project.id, { charged_micros: 10, resolved_model: 'm1' })
    await event(b.project.id, { charged_micros: 20, resolved_model: 'm2', created_at: rfc3339(NOON - DAY_MS) })
    return { of, b, c }
  }
  const rows = (answer: Answer, ...names: string[]) =>
    answer.body.data.map((row: Record<string, unknown>) => names.map((name) => row[name]))

  test('R79 200: one row for each project with usage, whole, before and after it is rolled up', async () => {
    const { of, b } = await used()
    const expected = [
      [b.project.id, 'home', 2, 30],
      [of.project.id, 'home', 1, 5],
    ]
    const ask = async () => {
      const answer = await of.get(USAGE)
      expect(answer.body.has_more).toBe(false)
      return rows(answer, 'project_id', 'project_name', 'events', 'charged_micros')
    }
    expect(await ask()).toEqual(expected)
    await usageRollups(of.db).roll(100)
    expect(await ask()).toEqual(expected)
  })

  test('R79 200: grouped further, filtered, of one project, as a table', async () => {
    const { of, b, c } = await used()
    const ask = async (query: string, ...names: string[]) => rows(await of.get(`${USAGE}?${query}`), ...names)
    expect(await ask('group_by=model', 'project_id', 'model', 'charged_micros')).toEqual([
      [b.project.id, 'm2', 20],
      [b.project.id, 'm1', 10],
      [of.project.id, 'gpt-4o', 5],
    ])
    expect(await ask(`from=${rfc3339(NOON - HOUR_MS)}`, 'charged_micros')).toEqual([[10], [5]])
    expect(await ask(`project_id=${b.project.id}&model=m1`, 'charged_micros')).toEqual([[10]])
    expect(await ask(`project_id=${c.project.id}`)).toEqual([])
    const table = await of.get(USAGE, { accept: 'text/csv' })
    expect(table.bytes.toString().split('\r\n').slice(0, 2)).toEqual([
      expect.stringMatching(/^project_id,project_name,events,/),
      expect.stringMatching(new RegExp(`^${b.project.id},home,2,`)),
    ])
  })

  test.each(['limit=1', 'projekt_id=x', 'group_by=project_id', 'from=yesterday', 'project_id=%00'])(
    'R75 400 on %s',
    async (query) => {
      const { of } = await used()
      expect((await of.get(`${USAGE}?${query}`)).status).toBe(400)
    },
  )

  test('R70 a list over very many projects is written batch by batch, each row once', async () => {
    const { of, b } = await used()
    const ids = Array.from({ length: 250 }, (_, n) => `prj_bulk${n}`)
    await of.db.transaction(async (tx) => {
      await together(
        ids.map((id, n) =>
          tx.rows(sql`
            INSERT INTO project (id, name, owner_id, created_at, sequence)
            VALUES (${id}, ${id}, ${b.project.owner_id}, ${rfc3339(NOON)}, ${n})`),
        ),
      )
      await together(ids.map((id) => usageStore(tx).insert(usageEvent(id, { charged_micros: 1 }))))
    })
    const { data } = (await of.get(USAGE)).body
    expect(new Set(data.map((row: { project_id: string }) => row.project_id)).size).toBe(252)
    expect(data).toHaveLength(252)
    expect((await of.get(PROJECTS)).body.data).toHaveLength(253)
  })
})
