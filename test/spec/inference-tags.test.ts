// Tags over the whole path: dimensions of usage, and hard budgets by the same holds.
import { describe, expect, test } from 'vitest'
import { DAY_MS } from '../../src/core/clock.ts'
import { sql } from '../../src/storage/db.ts'
import { usageStore } from '../../src/usage/usage-store.ts'
import { DISTINCT_MAX } from '../../src/usage/usage-tag-store.ts'
import { envelope } from '../support/inference-cases.ts'
import { holdFor, type Stage, USUAL_COST, withScene } from '../support/inference-scene.ts'
import { countStatements, deferred, mutateSql } from '../support/tampered-db.ts'
import { usageEvent } from '../support/usage-events.ts'

const usdOf = (micros: number) => micros / 1e6
const tagged = (tags: string) => ({ headers: { 'agent-tags': tags } })

/** Whose key it is says already whether there are budgets. */
const isAboutTags = (text: string) =>
  /tag_budget|usage_tag|project_tag|tag_hold/.test(text) && !text.includes('FROM api_key k')

withScene((scene) => {
  describe('as dimensions', () => {
    test('§tags events have them; filter, group and table tell them apart', async () => {
      const stage = await scene().stage()
      await stage.chat({}, tagged('team=search, run=1'))
      await stage.chat({}, tagged('team=search, run=2'))
      await stage.chat({ user: 'ada', metadata: { team: 'core' } })
      await stage.chat()
      const { data } = (await stage.get('/v2/usage')).body
      expect(data.map(({ tags }: { tags?: object }) => tags)).toEqual([
        undefined,
        { user: 'ada', team: 'core' },
        { team: 'search', run: '2' },
        { team: 'search', run: '1' },
      ])
      const only = async (query: string) => (await stage.get(`/v2/usage?${query}`)).body.data
      expect(await only('tag=team%3Dsearch')).toHaveLength(2)
      expect(await only('tag=team=search&limit=1')).toHaveLength(1)
      expect(await only('tag=user=nobody')).toEqual([])
      const groups = await only('group_by=tag:team')
      expect(
        groups.map(({ tag, events, charged_micros }: Record<string, unknown>) => [tag, events, charged_micros]),
      ).toEqual(
        [
          ['search', 2, 2 * USUAL_COST],
          [null, 1, USUAL_COST],
          ['core', 1, USUAL_COST],
        ].sort((a, b) => Number(b[1]) - Number(a[1])),
      )
      const csv = await stage.get('/v2/usage?group_by=model,tag:team', { accept: 'text/csv' })
      expect(csv.body.split('\r\n')[0]).toMatch(/^model,tag,events,/)
      const events = await stage.get('/v2/usage', { accept: 'text/csv' })
      expect(events.body).toContain('"{""team"":""search"",""run"":""1""}"')
    })

    test('§tags requests have them, and are found by them', async () => {
      const stage = await scene().stage()
      await stage.chat({}, tagged('run=7'))
      await stage.chat()
      const { data } = (await stage.get('/v2/requests?tag=run=7')).body
      expect(data.map(({ tags }: { tags: object }) => tags)).toEqual([{ run: '7' }])
      expect(
        (await stage.get('/v2/usage/timeline?tag=run=7&from=2026-11-15T00:00:00Z&to=2026-11-16T00:00:00Z&step=day'))
          .status,
      ).toBe(200)
    })

    test.each(['tag=team', 'group_by=tag:', 'group_by=tag:a,tag:b', 'group_by=tag:A%20b'])(
      '§tags 400: %s',
      async (query) => {
        const stage = await scene().stage()
        expect((await stage.get(`/v2/usage?${query}`)).status).toBe(400)
      },
    )

    test('§tags a header that cannot be read is 400: nobody is called and nothing is stored', async () => {
      const stage = await scene().stage()
      const refused = await stage.chat({}, tagged('team'))
      expect([refused.status, stage.one.requests.length]).toEqual([400, 0])
    })

    test('R70 beyond so many different ones, further values of a name are one', async () => {
      const stage = await scene().stage()
      await scene().db.rows(sql`UPDATE project SET tag_count = ${DISTINCT_MAX - 1} WHERE id = ${stage.project.id}`)
      for (const run of ['a', 'b', 'c', 'a']) await stage.chat({}, tagged(`run=${run}`))
      const { data } = (await stage.get('/v2/usage')).body
      expect(data.map(({ tags }: { tags: { run: string } }) => tags.run)).toEqual(['a', '(other)', '(other)', 'a'])
      scene().clock.advance(91 * DAY_MS)
      await scene().housekeep('forget tags')
      await stage.chat({}, tagged('run=d'))
      expect((await stage.get('/v2/usage?limit=1')).body.data[0].tags).toEqual({ run: 'd' })
    })

    test('R70 calls that settle together with the same new tag take one place, the last one too', async () => {
      const stage = await scene().stage()
      const settledTogether = (run: string) =>
        scene().db.transaction(async (tx) => {
          const event = () => usageEvent(stage.project.id, { tags: { run } })
          await Promise.all(Array.from({ length: 5 }, () => usageStore(tx).insert(event())))
        })
      const placesTaken = async () => {
        const [row] = await scene().db.rows<{ tag_count: number }>(sql`
          SELECT tag_count FROM project WHERE id = ${stage.project.id}`)
        return Number(row?.tag_count)
      }
      await settledTogether('a')
      expect(await placesTaken()).toBe(1)
      await scene().db.rows(sql`UPDATE project SET tag_count = ${DISTINCT_MAX - 1} WHERE id = ${stage.project.id}`)
      await settledTogether('b')
      expect(await placesTaken()).toBe(DISTINCT_MAX)
      const { data } = (await stage.get('/v2/usage?tag=run=b')).body
      expect(data).toHaveLength(5)
    })

    test('§tags a call without tags costs no statement for them', async () => {
      const stage = await scene().stage({ key: 1e9 })
      const noted = countStatements(scene().tampering)
      const statements = await noted.while(() => stage.chat())
      delete scene().tampering.rows
      expect(statements.filter((text) => isAboutTags(text))).toEqual([])
    })

    test('§tags where no tag of the project has a budget, a call with tags costs no statement for budgets', async () => {
      const stage = await scene().stage({ key: 1e9 })
      const noted = countStatements(scene().tampering)
      const statements = await noted.while(() => stage.chat({ user: 'agent-7' }, tagged('team=search')))
      delete scene().tampering.rows
      expect(statements.filter((text) => isAboutTags(text) && /tag_budget|tag_hold/.test(text))).toEqual([])
    })

    test('§8.1 a purge of traces erases what a call was filed under; what it cost stays', async () => {
      const stage = await scene().stage()
      await stage.chat({}, tagged('user=ada'))
      scene().clock.advance(1)
      await stage.post('/v2/purge-jobs', {
        filter: { everything: true },
        confirm: 'home',
        mode: 'erase',
        kinds: ['traces'],
      })
      await scene().housekeep('run purge jobs')
      const [event] = (await stage.get('/v2/usage')).body.data
      expect([event.tags, event.charged_micros]).toEqual([undefined, USUAL_COST])
      expect((await stage.get('/v2/usage?tag=user=ada')).body.data).toEqual([])
    })
  })

  describe('with budgets', () => {
    const BODY = { max_tokens: 100 }
    const AT_ONCE = 12
    const budgetOf = async (stage: Stage, id: string) => (await stage.get(`/v2/tag-budgets/${id}`)).body
    const made = async (stage: Stage, tag: string, micros: number) =>
      (await stage.post('/v2/tag-budgets', { tag, limit_usd: usdOf(micros) })).body

    test('R43 a call that does not fit is refused, before anybody is called; others go on', async () => {
      const stage = await scene().stage()
      const hold = holdFor(stage.bodyOf(BODY), 100)
      const { id } = await made(stage, 'team=search', hold + USUAL_COST)
      expect((await stage.chat(BODY, tagged('team=search'))).status).toBe(200)
      expect((await stage.chat(BODY, tagged('team=search'))).status).toBe(200)
      const refused = await stage.chat(BODY, tagged('team=search'))
      expect(envelope(refused)).toEqual([429, 'quota_exceeded', 'quota_exceeded'])
      expect((await stage.chat(BODY, tagged('team=core'))).status).toBe(200)
      expect((await stage.chat(BODY)).status).toBe(200)
      expect(await budgetOf(stage, id)).toMatchObject({ spent_micros: 2 * USUAL_COST, held_micros: 0 })
      expect(stage.one.requests).toHaveLength(4)
      await stage.patch(`/v2/tag-budgets/${id}`, { limit_usd: 1 })
      expect((await stage.chat(BODY, tagged('team=search'))).status).toBe(200)
      await stage.audit()
    })

    test('R43 a budget counts from the next call on, of keys that were used before it too; and no more once it is gone', async () => {
      const stage = await scene().stage()
      const status = async () => (await stage.chat(BODY, tagged('team=late'))).status
      expect(await status()).toBe(200)
      const { id } = await made(stage, 'team=late', 1)
      expect(await status()).toBe(429)
      await stage.del(`/v2/tag-budgets/${id}`)
      expect(await status()).toBe(200)
      await stage.audit()
    })

    test('R43 0 blocks every call with the tag, those that cost nothing here too', async () => {
      const stage = await scene().stage()
      const own = { provider: stage.first, name: 'own', secret: 'sk-0123456789abcdef' }
      expect((await stage.post('/v2/provider-credentials', own)).status).toBe(200)
      await made(stage, 'team=none', 0)
      const refused = await stage.chat(BODY, tagged('team=none'))
      expect(envelope(refused)).toEqual([429, 'quota_exceeded', 'quota_exceeded'])
      const served = await stage.chat(BODY, tagged('team=other'))
      expect([served.status, served.headers['agent-execution-profile']]).toEqual([200, 'byok'])
      expect(stage.one.requests).toHaveLength(1)
    })

    /** Asked side by side, while the upstream answers none of them: what is let through, and what is held for it. */
    async function askedAtOnce(calls: number) {
      const stage = await scene().stage({ key: 1e9 })
      const hold = holdFor(stage.bodyOf(BODY), 100)
      const { id } = await made(stage, 'team=search', 5 * hold)
      const answering = deferred()
      stage.one.behave({ wait: answering.promise })
      let refused = 0
      const asked: Promise<{ status: number }>[] = []
      while (asked.length < calls) {
        // Fewer than a replica has connections: more would wait for one, and measure that.
        for (let n = 0; n < AT_ONCE; n++)
          asked.push(
            stage.chat(BODY, tagged('team=search, user=ada')).then((answer) => {
              if (answer.status !== 200) refused++
              return answer
            }),
          )
        await expect.poll(() => refused + stage.one.requests.length, { timeout: 10_000 }).toBe(asked.length)
      }
      const { held_micros, spent_micros } = await budgetOf(stage, id)
      answering.resolve()
      const statuses = (await Promise.all(asked)).map(({ status }) => status)
      const budget = await budgetOf(stage, id)
      await stage.audit()
      return { hold, before: { held_micros, spent_micros }, budget, statuses }
    }

    test('R43 of sixty at once exactly those that fit are asked, and no micro more is held; planted: a raise that does not ask', async () => {
      const { hold, before, budget, statuses } = await askedAtOnce(60)
      expect(before).toEqual({ held_micros: 5 * hold, spent_micros: 0 })
      expect([200, 429].map((status) => statuses.filter((one) => one === status).length)).toEqual([5, 55])
      expect(budget).toMatchObject({ spent_micros: 5 * USUAL_COST, held_micros: 0 })
      mutateSql(scene().tampering, '<= limit_micros', '>= 0', /^UPDATE tag_budget SET held_micros = held_micros \+/)
      const planted = await askedAtOnce(AT_ONCE)
      delete scene().tampering.rows
      expect(planted.before.held_micros).toBeGreaterThan(5 * planted.hold)
    })

    test('R43 two budgets of one call: the tighter decides, and a child key counts too', async () => {
      const stage = await scene().stage()
      const hold = holdFor(stage.bodyOf(BODY), 100)
      const [wide, tight] = [await made(stage, 'team=search', 1e6), await made(stage, 'user=ada', hold - 1)]
      expect((await stage.chat(BODY, tagged('team=search, user=ada'))).status).toBe(429)
      expect(await budgetOf(stage, wide.id)).toMatchObject({ spent_micros: 0, held_micros: 0 })
      await stage.patch(`/v2/tag-budgets/${tight.id}`, { limit_usd: usdOf(hold) })
      await stage.post(`/v2/api-keys/${stage.key_id}/budget`, { limit_usd: 1 })
      const child = await stage.post(`/v2/api-keys/${stage.key_id}/children`, {
        name: 'run',
        limit_usd: 0.1,
        ttl_seconds: 60,
      })
      const by_child = { authorization: `Bearer ${child.body.key}`, 'agent-tags': 'team=search, user=ada' }
      expect((await stage.chat(BODY, { headers: by_child })).status).toBe(200)
      for (const { id } of [wide, tight])
        expect(await budgetOf(stage, id)).toMatchObject({ spent_micros: USUAL_COST, held_micros: 0 })
    })

    test('R43 where a shorter answer fits and the caller set no limit, it gets that', async () => {
      const stage = await scene().stage()
      await made(stage, 'team=search', holdFor(stage.bodyOf(), 0) + 2 * 300)
      const heard = await stage.chat({}, tagged('team=search'))
      expect([heard.status, heard.headers['agent-output-clamped']]).toEqual([200, '300'])
    })

    test('R43 what failed, or whose process died, gives back what it held', async () => {
      const stage = await scene().stage()
      const { id } = await made(stage, 'team=search', 1e6)
      stage.one.behave({ status: 500 })
      await stage.chat(BODY, tagged('team=search'))
      expect(await budgetOf(stage, id)).toMatchObject({ spent_micros: 0, held_micros: 0 })
      const dead = scene().inference.budgetsOn(scene().db)
      const spender = { key_id: stage.key_id, project_id: stage.project.id, tag_budgets: [id] }
      await dead.hold(spender, 1_000, scene().clock.now())
      await scene().db.rows(sql`UPDATE budget_hold SET process = 'gone' WHERE project_id = ${stage.project.id}`)
      expect((await budgetOf(stage, id)).held_micros).toBe(1_000)
      await scene().housekeep('return orphaned holds')
      expect(await budgetOf(stage, id)).toMatchObject({ spent_micros: 0, held_micros: 0 })
      await stage.audit()
    })

    test('§tags a budget from its making to its end; what cannot be meant is 400', async () => {
      const stage = await scene().stage()
      const budget = await made(stage, ' Team=search ', 1e6)
      expect(budget).toMatchObject({ object: 'tag_budget', tag: 'team=search', limit_micros: 1e6, spent_micros: 0 })
      expect((await stage.get('/v2/tag-budgets')).body.data).toEqual([budget])
      for (const body of [
        { tag: 'team=search', limit_usd: 1 },
        { tag: 'x', limit_usd: 1 },
        { tag: 'a=b', limit_usd: -1 },
        { tag: 'a=b' },
      ])
        expect((await scene().storingNothing(() => stage.post('/v2/tag-budgets', body))).status).toBe(400)
      expect((await stage.del(`/v2/tag-budgets/${budget.id}`)).body.deleted).toBe(true)
      expect((await stage.get(`/v2/tag-budgets/${budget.id}`)).status).toBe(404)
      const other = await scene().newProject()
      expect((await other.del(`/v2/tag-budgets/${budget.id}`)).status).toBe(404)
    })
  })
})
