// R70: how many of a thing a project may have, over HTTP and under races.
import { expect, onTestFinished, test } from 'vitest'
import { type Answer, type TestProject, withService } from '../../test/support/service.ts'
import { mutateSql, type Tampering, textOf } from '../../test/support/tampered-db.ts'
import { noGateway } from '../start/gateway-settings.ts'
import { sql } from '../storage/db.ts'
import { quotaStore } from './quota-store.ts'

const MAX = 3
const quotas = {
  keys: MAX,
  clusters: MAX,
  aliases: MAX,
  releases: MAX,
  credentials: MAX,
  hints: MAX,
  sessions: MAX,
  session_contents_mib: 100,
  invitations: MAX,
  kept_answers: 100,
  kept_answers_mib: 100,
  responses: 100,
  responses_mib: 100,
  artifacts: 100,
  artifacts_mib: 100,
  bundles: MAX,
  recordings: 100,
  recordings_mib: 100,
  replay_runs: 1_000,
  replay_outputs_mib: 100,
  purge_jobs: MAX,
  notification_channels: 20,
  tag_budgets: 1_000,
  saved_views: MAX,
  mails_per_day: 100,
}

type Add = (home: TestProject, n: number) => ReturnType<TestProject['post']>

const secret = 'sk-0123456789abcdef'
const ADDS: [kind: keyof typeof quotas, add: Add][] = [
  ['keys', ({ post }, n) => post('/v2/api-keys', { name: `k${n}` })],
  ['clusters', ({ post }, n) => post('/v2/byoc/clusters', { name: `c${n}`, region: 'eu' })],
  ['credentials', ({ post }, n) => post('/v2/provider-credentials', { provider: 'openai', name: `p${n}`, secret })],
  ['purge_jobs', ({ post }, n) => post('/v2/purge-jobs', { filter: { trace_ids: [`trc_${n}`] } })],
  ['hints', ({ post }) => post('/v2/agent-hints', { qos: { class: 'interactive' } })],
  ['sessions', ({ post }) => post('/v2/sessions', {})],
  ['saved_views', ({ post }, n) => post('/v2/saved-views', { page: 'usage', name: `v${n}`, query: '' })],
  ['invitations', ({ post }, n) => post('/v2/members/invitations', { email: `p${n}@example.com`, role: 'member' })],
]

/** What the API lets somebody do about it; the others are deleted. */
const REMEDIES: Partial<Record<keyof typeof quotas, RegExp>> = {
  keys: /Revoke some, or/,
  clusters: /Deregister some, or/,
  credentials: /Revoke some, or/,
  invitations: /Withdraw some, or/,
  purge_jobs: /that have ended count for 30 days, .* for 7; wait, or/,
}

withService(
  (service) => {
    test.each(ADDS)(
      'R70 %s: the bound is named in a 429, nothing is stored, and another project has its own',
      async (kind, add) => {
        const home = await service().newProject()
        const made = []
        for (let n = 0; n < MAX; n++) made.push((await add(home, n)).status)
        expect(made).toEqual([200, 200, 200])
        const refused = await add(home, MAX)
        expect([refused.status, refused.body.error.type, refused.headers['x-should-retry']]).toEqual([
          429,
          'quota_exceeded',
          'false',
        ])
        expect(refused.body.error.message).toContain(`as many ${kind.replace('_', ' ')} as it may have (3)`)
        expect(refused.body.error.message).toMatch(REMEDIES[kind] ?? /\. Delete some, or ask the operator for more\.$/)
        expect(refused.headers['retry-after']).toBeUndefined()
        expect((await add(await service().newProject(), 0)).status).toBe(200)
      },
    )

    test('R70 a body that is wrong takes no place, nor does a replay', async () => {
      const { post } = await service().newProject()
      for (let n = 0; n < 2 * MAX; n++) expect((await post('/v2/agent-hints', { qos: { class: 5 } })).status).toBe(400)
      const keyed = { 'agent-idempotency-key': 'once' }
      for (let n = 0; n < 2 * MAX; n++) expect((await post('/v2/agent-hints', { qos: {} }, keyed)).status).toBe(200)
      expect((await post('/v2/agent-hints', { qos: {} })).status).toBe(200)
    })

    test('R70 what is deleted makes room, after a minute at the latest', async () => {
      const home = await service().newProject()
      const ids: string[] = []
      for (let n = 0; n < MAX; n++) ids.push((await home.post('/v2/agent-hints', { qos: {} })).body.id)
      expect((await home.post('/v2/agent-hints', { qos: {} })).status).toBe(429)
      await home.send('DELETE', `/v2/agent-hints/${ids[0]}`)
      service().clock.advance(60_000)
      const after = [
        (await home.post('/v2/agent-hints', { qos: {} })).status,
        (await home.post('/v2/agent-hints', { qos: {} })).status,
      ]
      expect(after).toEqual([200, 429])
    })

    const REMOVED: [kind: string, add: Add, remove: (made: Answer['body']) => string][] = [
      ['keys', ({ post }, n) => post('/v2/api-keys', { name: `k${n}` }), ({ id }) => `/v2/api-keys/${id}`],
      [
        'clusters',
        ({ post }, n) => post('/v2/byoc/clusters', { name: `c${n}`, region: 'eu' }),
        ({ id }) => `/v2/byoc/clusters/${id}`,
      ],
      [
        'credentials',
        ({ post }, n) => post('/v2/provider-credentials', { provider: 'openai', name: `p${n}`, secret }),
        ({ id }) => `/v2/provider-credentials/${id}`,
      ],
      ['hints', ({ post }) => post('/v2/agent-hints', { qos: {} }), ({ id }) => `/v2/agent-hints/${id}`],
      ['sessions', ({ post }) => post('/v2/sessions', {}), ({ id }) => `/v2/sessions/${id}`],
      [
        'invitations',
        ({ post }, n) => post('/v2/members/invitations', { email: `p${n}@example.com`, role: 'member' }),
        ({ id }) => `/v2/members/${id}`,
      ],
    ]

    test.each(REMOVED)('R70 %s: what is deleted or revoked makes room at once, and once', async (kind, add, remove) => {
      const home = await service().newProject()
      let n = 0
      const addOne = async () => add(home, n++)
      const first = (await addOne()).body
      let refused = await addOne()
      while (refused.status === 200) refused = await addOne()
      expect([refused.status, (await addOne()).status]).toEqual([429, 429])
      // Beside the keys that took places there is the project's first one.
      if (kind === 'keys') await home.send('DELETE', remove((await home.get('/v2/api-keys')).body.data[0]))
      expect((await home.send('DELETE', remove(first))).status).toBe(200)
      const next = await addOne()
      expect([next.status, (await addOne()).status]).toEqual([200, 429])
      const other = await service().startProcess('other')
      expect((await home.send('DELETE', remove(next.body))).status).toBe(200)
      const there = { ...home, ...other.as(home.key) }
      expect([(await add(there, n++)).status, (await add(there, n++)).status]).toEqual([200, 429])
    })

    test('R70 a removal lets count once: whoever stands at a bound makes nobody count at every try', async () => {
      const home = await service().newProject()
      const hint = async () => (await home.post('/v2/agent-hints', { qos: {} })).status
      const ids: string[] = []
      for (let n = 0; n < MAX; n++) ids.push((await home.post('/v2/agent-hints', { qos: {} })).body.id)
      await quotaStore(service().db).setMax(home.project.id, 'hints', 1)
      await home.send('DELETE', `/v2/agent-hints/${ids[0]}`)
      expect(await hint()).toBe(429) // two are left: counted
      await service().db.rows(sql`DELETE FROM agent_hints WHERE project_id = ${home.project.id}`)
      expect([await hint(), await hint()]).toEqual([429, 429]) // and believed
      service().clock.advance(60_000)
      expect([await hint(), await hint()]).toEqual([200, 429])
    })

    test('R70 what a refused removal names makes nobody count', async () => {
      const home = await service().newProject()
      const hint = async () => (await home.post('/v2/agent-hints', { qos: {} })).status
      for (let n = 0; n < MAX; n++) await hint()
      expect(await hint()).toBe(429)
      await service().db.rows(sql`DELETE FROM agent_hints WHERE project_id = ${home.project.id}`)
      expect((await home.send('DELETE', '/v2/agent-hints/ah_none')).status).toBe(404)
      expect(await hint()).toBe(429)
    })

    test('R70 what fails once there is room again takes no place, and leaves the room', async () => {
      const { post, send } = await service().newProject()
      const targets = [{ provider: 'openai', model: 'gpt-4o' }]
      const alias = async (name: string) => (await post('/v2/aliases', { name, targets })).status
      const made = [await alias('a'), await alias('b'), await alias('c'), await alias('d')]
      expect(made).toEqual([200, 200, 200, 429])
      await send('DELETE', '/v2/aliases/a')
      expect([await alias('b'), await alias('b'), await alias('d'), await alias('e')]).toEqual([400, 400, 200, 429])
    })

    const MAKES_ROOM = /^UPDATE project_quota SET present = .* present >= COALESCE/
    const endTampering = () => void Object.assign(service().tampering, { rows: undefined, transaction: undefined })

    async function withAlias() {
      const home = await service().newProject()
      const alias = () => home.post('/v2/aliases', { name: 'a', targets: [{ provider: 'openai', model: 'gpt-4o' }] })
      expect((await alias()).status).toBe(200)
      return { ...home, alias }
    }

    test('R70 what is deleted has committed before it makes room: no two wait for each other’s rows', async () => {
      const { send } = await withAlias()
      const order: string[] = []
      onTestFinished(endTampering)
      Object.assign(service().tampering, {
        rows(statement, run) {
          if (textOf(statement).startsWith('DELETE FROM model_alias')) order.push('deleted')
          if (MAKES_ROOM.test(textOf(statement))) order.push('room')
          return run(statement)
        },
        async transaction(work, begin) {
          const result = await begin(work)
          order.push('committed')
          return result
        },
      } satisfies Tampering)
      expect((await send('DELETE', '/v2/aliases/a')).status).toBe(200)
      expect(order).toEqual(['deleted', 'committed', 'room', 'room'])
    })

    test('R70 what is deleted is gone, and on record, though no room can be made', async () => {
      const { send, get, alias } = await withAlias()
      onTestFinished(endTampering)
      const broken = mutateSql(service().tampering, 'SET present', 'SET no_such_column', MAKES_ROOM)
      expect((await send('DELETE', '/v2/aliases/a')).status).toBe(200)
      expect(broken.changed()).toBe(1)
      endTampering()
      expect((await get('/v2/aliases')).body.data).toEqual([])
      const entries = (await get('/v2/audit-log')).body.data as { action: string; target: string }[]
      expect(entries.map(({ action }) => action)).toContain('DELETE /v2/aliases/{name}')
      expect(service().log.filter((line) => line.includes('makes room later'))).toHaveLength(1)
      expect((await alias()).status).toBe(200)
    })

    test('R70 a saved view in the place of another takes no place: it can be changed at the bound, and as often as one likes', async () => {
      const home = await service().newProject()
      const save = async (name: string, query: string, by: Pick<TestProject, 'post'> = home) =>
        (await by.post('/v2/saved-views', { page: 'usage', name, query })).status
      const other = service().as(await home.keyWith('read'))
      expect(await save('same', '')).toBe(200)
      for (let n = 0; n < 2 * MAX; n++) expect(await save(' same ', `n=${n}`)).toBe(200)
      expect([await save('same', '', other), await save('a', '', other), await save('b', '', other)]).toEqual([
        200, 200, 429,
      ])
      expect([await save('same', 'at=bound'), await save('a', 'at=bound')]).toEqual([200, 429])
    })

    test('R70 an alias takes its first release too, or neither of them', async () => {
      const { post, get } = await service().newProject()
      const targets = [{ provider: 'openai', model: 'gpt-4o' }]
      expect((await post('/v2/aliases', { name: 'a', targets })).status).toBe(200)
      const release = () => post('/v2/aliases/a/releases', { targets })
      expect([(await release()).status, (await release()).status, (await release()).status]).toEqual([200, 200, 429])
      const refused = await post('/v2/aliases', { name: 'b', targets })
      expect([refused.status, refused.body.error.message]).toEqual([429, expect.stringContaining('many releases as')])
      expect((await get('/v2/aliases')).body.data).toHaveLength(1)
    })

    test('R70 of a hundred at once, as many get a place as there are', async () => {
      const { project } = await service().newProject()
      const taken = await Promise.all(
        Array.from({ length: 100 }, () => quotaStore(service().db).take(project.id, 'sessions', 40)),
      )
      expect(taken.filter((one) => one)).toHaveLength(40)
    })
  },
  { parts: { settings: { ...noGateway(), quotas } } },
)
