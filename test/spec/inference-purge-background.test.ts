// §4.15 purge jobs and responses that nobody waits for: whatever became of one, and whatever names it, nothing of what
// it was asked, promised, told or answered is left to be read.
import { expect, test } from 'vitest'
import { sql } from '../../src/storage/db.ts'
import { type Scene, withScene } from '../support/inference-scene.ts'

const RESPONSES = '/v1/responses'
const BREAKS = { cut: { after: 4, how: 'reset' } } as const

withScene((scene) => {
  type TheStage = Awaited<ReturnType<Scene['stage']>>

  interface Ended {
    stage: TheStage
    id: string
    session_id: string
    trace_id: string
    ask(): ReturnType<TheStage['ask']>
  }

  const ENDS: Record<string, (stage: TheStage, begun: Begun) => Promise<unknown>> = {
    completed: async (_stage, { goOn }) => goOn(),
    cancelled: (stage, { id }) => stage.post(`${RESPONSES}/${id}/cancel`),
    failed: async (_stage, { goOn }) => goOn(),
  }

  interface Begun {
    id: string
    goOn(): void
  }

  /** A keyed one of a session, that has said something before it ends so. */
  async function ended(how: string): Promise<Ended> {
    const stage = await scene().stage()
    const session_id = (await stage.post('/v2/sessions', {})).body.id
    let goOn: () => void = () => {}
    const held = new Promise<void>((resolve) => {
      goOn = resolve
    })
    stage.one.behave({ pace: (event) => (event === 3 ? held : undefined), ...(how === 'failed' && BREAKS) })
    const body = { model: stage.model, input: 'asked of it', instructions: 'between us', background: true }
    const headers = { 'agent-idempotency-key': 'promised', 'x-session-id': session_id }
    const ask = () => stage.ask(RESPONSES, { body, headers })
    const { id } = (await ask()).json
    await expect.poll(async () => (await leftOf(id)).events, { timeout: 10_000 }).toBeGreaterThan(0)
    await ENDS[how]?.(stage, { id, goOn })
    goOn()
    await scene().inference.jobs.idle()
    expect((await stage.get(`${RESPONSES}/${id}`)).body.status).toBe(how)
    const [event] = (await stage.get('/v2/usage')).body.data
    scene().clock.advance(1)
    return { stage, id, session_id, trace_id: event.trace_id, ask }
  }

  async function leftOf(id: string) {
    const rows = async (table: 'events' | 'promise' | 'stored') =>
      (
        await scene().db.rows(
          {
            events: sql`SELECT response_id FROM background_events WHERE response_id = ${id}`,
            promise: sql`SELECT id FROM background_response WHERE id = ${id}`,
            stored: sql`SELECT id FROM stored_response WHERE id = ${id}`,
          }[table],
        )
      ).length
    return { events: await rows('events'), promise: await rows('promise'), stored: await rows('stored') }
  }

  const NOTHING = { events: 0, promise: 0, stored: 0 }

  const FILTERS: [string, (one: Ended) => object][] = [
    ['its id', ({ id }) => ({ response_ids: [id] })],
    ['its trace', ({ trace_id }) => ({ trace_ids: [trace_id] })],
    ['its session', ({ session_id }) => ({ session_ids: [session_id] })],
    ['its key', ({ stage }) => ({ key_id: stage.key_id })],
  ]

  test.each(Object.keys(ENDS).flatMap((how) => FILTERS.map(([by, filter]) => [how, by, filter] as const)))(
    '§4.15 one that is %s goes by %s, with its events; a repeat of what it was promised as is 410',
    async (how, _by, filter) => {
      const one = await ended(how)
      const { stage, id } = one
      const job = (await stage.post('/v2/purge-jobs', { filter: filter(one), mode: 'erase' })).body
      await scene().housekeep('run purge jobs')
      const receipt = (await stage.get(`/v2/purge-jobs/${job.id}/receipt`)).body
      expect(await leftOf(id)).toEqual(NOTHING)
      for (const [path, status] of [
        ['', 404],
        ['/input_items', 404],
        ['?stream=true', 404],
      ] as const)
        expect((await stage.get(`${RESPONSES}/${id}${path}`)).status).toBe(status)
      expect(receipt.erased).toContainEqual({ kind: 'responses', count: 1 })
      const told = (await stage.get(`/v2/purge-jobs/${job.id}`)).body.kinds
      expect(told).toContainEqual({ kind: 'responses', matched: 1, erased: 1, remaining: 0 })
      const again = await one.ask()
      expect([again.status, again.headers['x-should-retry']]).toEqual([410, 'false'])
    },
  )
})
