// R78: what sessions keep of calls is bounded for each project. Beyond the bound calls are served, and their turns are
// counted without contents; of many at once those are kept that fit.
import { describe, expect, test } from 'vitest'
import { MINUTE_MS } from '../../src/core/clock.ts'
import { quotaStore } from '../../src/limits/quota-store.ts'
import { sql } from '../../src/storage/db.ts'
import { asked, CASES, KEY, TEXT } from '../support/inference-cases.ts'
import { moneyIn } from '../support/inference-client.ts'
import { anotherProcess, type Stage, USUAL_COST, withScene } from '../support/inference-scene.ts'
import { readScrape, sumOf } from '../support/scrape.ts'

const MIB = 2 ** 20
const DROPPED = 'agent-session-contents-dropped'
const KINDS = ['input', 'assistant_output']

interface Event {
  type: string
  trace_id: string
  content?: unknown
  content_dropped?: string
}

withScene(
  (scene) => {
    const openSession = async (stage: Stage): Promise<string> => (await stage.post('/v2/sessions', {})).body.id
    const lineOf = async (stage: Stage, id: string): Promise<Event[]> =>
      (await stage.get(`/v2/sessions/${id}/events`)).body.data.reverse()
    const setQuota = (stage: Stage, mib: number) =>
      quotaStore(scene().db).setMax(stage.project.id, 'session_contents_mib', mib)
    const say = (stage: Stage, id: string, bytes: number) =>
      stage.chat({ messages: [{ role: 'user', content: 'x'.repeat(bytes) }] }, { headers: { 'x-session-id': id } })

    /** What is counted for a project, and what there is. */
    async function contents({ project }: Stage): Promise<[counted: number, there: number]> {
      const [row] = await scene().db.rows<{ counted: number; there: number }>(sql`
        SELECT (SELECT COALESCE(SUM(content_bytes), 0) FROM agent_session WHERE project_id = ${project.id}) AS counted,
               (SELECT COALESCE(SUM(CASE WHEN sealed IS NULL THEN COALESCE(parts_bytes, 0) ELSE LENGTH(sealed) END), 0)
                FROM session_event WHERE project_id = ${project.id}) AS there`)
      return [Number(row?.counted), Number(row?.there)]
    }

    describe('where there is no room', () => {
      test.each(CASES)('R78 it is served, counted and told, and another project keeps its own: $form', async (one) => {
        const [full, other] = [await scene().stage({ key: 1_000 }), await scene().stage()]
        await setQuota(full, 0)
        const metric = async () =>
          sumOf(readScrape(await scene().metrics.registry.metrics()), 'switchyard_session_contents_dropped_total', {})
        const before = await metric()
        const ids = [await openSession(full), await openSession(other)] as const
        const heard = await full.chat(...asked(one, {}, { 'x-session-id': ids[0] }))
        expect([heard.status, heard.headers[DROPPED], moneyIn(heard)]).toEqual([200, 'quota', USUAL_COST])
        const trace_id = heard.headers['agent-trace-id'] as string
        const line = await lineOf(full, ids[0])
        expect(line.map(({ type, content, content_dropped }) => [type, content, content_dropped])).toEqual(
          KINDS.map((type) => [type, undefined, 'quota']),
        )
        expect((await full.get(`/v2/sessions/${ids[0]}`)).body).toMatchObject({ turns: 1, input_tokens: 11 })
        const { headers } = (await full.get(`/v2/traces/${trace_id}`)).body
        expect(headers).toContainEqual(expect.objectContaining({ name: DROPPED, value: 'quota' }))
        expect([await contents(full), (await metric()) - before]).toEqual([[0, 0], 1])

        const kept = await other.chat(...asked(one, {}, { 'x-session-id': ids[1] }))
        expect(kept.headers).not.toHaveProperty(DROPPED)
        expect((await lineOf(other, ids[1]))[1]?.content).toMatchObject({ content: TEXT })
        const [counted, there] = await contents(other)
        expect([counted > 0, counted]).toEqual([true, there])
      })

      test('R78 §11 a keyed one is executed once, and its replay says the same', async () => {
        const stage = await scene().stage({ key: 1_000 })
        await setQuota(stage, 0)
        const headers = { 'x-session-id': await openSession(stage) }
        await stage.chat({}, { keyed: KEY, headers })
        const again = await stage.chat({}, { keyed: KEY, headers })
        expect([again.headers['agent-idempotent-replay'], again.headers[DROPPED]]).toEqual(['true', 'quota'])
        expect([stage.one.requests.length, (await stage.audit()).spent]).toEqual([1, USUAL_COST])
      })
    })

    describe('up to the bound', () => {
      const PIECE = 200 * 1024

      test('R78 of thirty at once those are kept that fit, and all are served', async () => {
        const stage = await scene().stage()
        await setQuota(stage, 1)
        const id = await openSession(stage)
        const heard = await Promise.all(Array.from({ length: 30 }, () => say(stage, id, PIECE)))
        expect(heard.map(({ status }) => status)).toEqual(Array(30).fill(200))
        const kept = heard.filter(({ headers }) => headers[DROPPED] === undefined)
        expect(kept).toHaveLength(Math.floor(MIB / PIECE))
        const [counted, there] = await contents(stage)
        expect([counted, there <= MIB]).toEqual([there, true])
        expect((await stage.get(`/v2/sessions/${id}`)).body.turns).toBe(30)
      })

      test('R78 what another process kept counts a minute later', async () => {
        const stage = await scene().stage()
        await setQuota(stage, 1)
        const id = await openSession(stage)
        await say(stage, id, 1)
        const second = await anotherProcess(scene(), 'second')
        for (let n = 0; n < 5; n++)
          await fetch(`${second.origin}/v1/chat/completions`, {
            method: 'POST',
            headers: { authorization: `Bearer ${stage.key}`, 'content-type': 'application/json', 'x-session-id': id },
            body: JSON.stringify(stage.bodyOf({ messages: [{ role: 'user', content: 'x'.repeat(PIECE) }] })),
          })
        expect((await contents(stage))[1]).toBeGreaterThan(MIB - PIECE)
        scene().clock.advance(10 * MINUTE_MS)
        expect((await say(stage, id, PIECE)).headers[DROPPED]).toBe('quota')
        await second.app.close()
      })

      test('R78 a call that comes to nothing takes nothing', async () => {
        const stage = await scene().stage()
        await setQuota(stage, 1)
        const id = await openSession(stage)
        stage.one.behave({ status: 400, body: { error: { message: 'no', type: 'invalid_request_error' } } })
        for (let n = 0; n < 10; n++) await say(stage, id, PIECE)
        stage.one.behave({})
        expect((await say(stage, id, PIECE)).headers).not.toHaveProperty(DROPPED)
      })

      test('R78 what is deleted, or erased by a purge job, makes room within a minute', async () => {
        const stage = await scene().stage()
        await setQuota(stage, 1)
        const [one, two] = [await openSession(stage), await openSession(stage)]
        const traces: string[] = []
        for (let n = 0; n < 5; n++)
          traces.push((await say(stage, n < 3 ? one : two, PIECE)).headers['agent-trace-id'] as string)
        expect((await say(stage, two, PIECE)).headers[DROPPED]).toBe('quota')
        scene().clock.advance(1)
        await stage.post('/v2/purge-jobs', { filter: { trace_ids: [traces[4]] }, mode: 'erase' })
        await scene().housekeep('run purge jobs')
        const [counted, there] = await contents(stage)
        expect([counted, there < 4.5 * PIECE]).toEqual([there, true])
        scene().clock.advance(MINUTE_MS)
        expect((await say(stage, two, PIECE)).headers).not.toHaveProperty(DROPPED)
        expect((await say(stage, two, PIECE)).headers[DROPPED]).toBe('quota')
        await stage.del(`/v2/sessions/${one}`)
        scene().clock.advance(MINUTE_MS)
        for (let n = 0; n < 3; n++) expect((await say(stage, two, PIECE)).headers).not.toHaveProperty(DROPPED)
        expect((await contents(stage)).map((bytes) => bytes > 4 * PIECE && bytes < MIB)).toEqual([true, true])
      })
    })
  },
  { config: { retention: { full_fidelity: true } } },
)
