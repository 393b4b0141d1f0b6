// §4.11: background responses that end while they run: deleted, cancelled, or taken over by another process. Nothing of
// what was deleted stays or comes back, and what another has taken over is charged once.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { sql, unavailable } from '../../src/storage/db.ts'
import { hintsHeader } from '../support/inference-client.ts'
import { anotherProcess, type Scene, USUAL_COST, withScene } from '../support/inference-scene.ts'
import { deferred, textOf } from '../support/tampered-db.ts'

const RESPONSES = '/v1/responses'

// Runs look after their leases, and write their events, when the test says so.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))
afterEach(() => void vi.useRealTimers())

withScene((scene) => {
  type TheStage = Awaited<ReturnType<Scene['stage']>>
  const done = () => scene().inference.jobs.idle()

  /**
   * A response whose upstream has said some of it, and says the rest when it is told to. Some of what its run has heard
   * is written down, and some is not.
   */
  async function inTheMiddle(stage: TheStage): Promise<{ id: string; goOn(): void }> {
    const [more, said, rest] = [deferred(), deferred(), deferred()]
    stage.one.behave({
      pace(event) {
        if (event === 2) return more.promise
        if (event !== 3) return undefined
        said.resolve()
        return rest.promise
      },
    })
    const body = { model: stage.model, input: 'hello', background: true }
    const { id } = (await stage.ask(RESPONSES, { body })).json
    const written = async () => {
      vi.advanceTimersByTime(200)
      return (await leftOf(id)).events
    }
    await expect.poll(written).toBe(1)
    more.resolve()
    await said.promise
    for (let n = 0; n < 3; n++) await fetch(`${scene().origin}/v1/models`) // what was said is heard by then
    return { id, goOn: rest.resolve }
  }

  async function leftOf(id: string) {
    const { db } = scene()
    const events = await db.rows(sql`SELECT response_id FROM background_events WHERE response_id = ${id}`)
    const rows = await db.rows<{ status: string }>(sql`SELECT status FROM background_response WHERE id = ${id}`)
    const stored = await db.rows(sql`SELECT id FROM stored_response WHERE id = ${id}`)
    return { events: Math.min(1, events.length), status: rows[0]?.status, stored: stored.length }
  }

  const NOTHING = { events: 0, status: undefined, stored: 0 }

  test('§4.11 deleted where it runs: what its run has heard and not written yet is not written behind it', async () => {
    const stage = await scene().stage({ key: 100_000 })
    const { id } = await inTheMiddle(stage)
    expect((await stage.send('DELETE', `${RESPONSES}/${id}`)).status).toBe(200)
    await done()
    expect([(await stage.get(`${RESPONSES}/${id}`)).status, await leftOf(id)]).toEqual([404, NOTHING])
    expect(await stage.audit()).toMatchObject({ held: 0 })
  })

  test('§4.11 deleted through another process: it stays deleted when its run ends before it hears of that', async () => {
    const stage = await scene().stage({ key: 100_000 })
    const second = await anotherProcess(scene(), 'second')
    const { id, goOn } = await inTheMiddle(stage)
    const headers = { authorization: `Bearer ${stage.key}` }
    const deleted = await second.app.inject({ method: 'DELETE', url: `${RESPONSES}/${id}`, headers })
    expect(deleted.statusCode).toBe(200)
    goOn()
    await done()
    expect([(await stage.get(`${RESPONSES}/${id}`)).status, await leftOf(id)]).toEqual([404, NOTHING])
    expect(await stage.audit()).toMatchObject({ spent: USUAL_COST, held: 0 })
    await second.app.close()
  })

  test('§4.11 cancelled through another process: nothing is stored that would be read once its row is swept', async () => {
    const stage = await scene().stage({ key: 100_000 })
    const second = await anotherProcess(scene(), 'second')
    const { id, goOn } = await inTheMiddle(stage)
    const headers = { authorization: `Bearer ${stage.key}` }
    await second.app.inject({ method: 'POST', url: `${RESPONSES}/${id}/cancel`, headers })
    goOn()
    await done()
    expect(await leftOf(id)).toMatchObject({ status: 'cancelled', stored: 0 })
    scene().clock.advance(25 * 3_600_000)
    await scene().housekeep('sweep background responses')
    expect([(await stage.get(`${RESPONSES}/${id}`)).status, await leftOf(id)]).toEqual([404, NOTHING])
    await second.app.close()
  })

  test('R74 a revoked key stops it, also where the store does not take that word: it is written once its lease is over', async () => {
    const stage = await scene().stage()
    const { db, clock, tampering } = scene()
    const { id } = await inTheMiddle(stage)
    await db.rows(sql`UPDATE api_key SET status = 'revoked', hash = NULL WHERE id = ${stage.key_id}`)
    const refused = deferred()
    tampering.rows = (statement, run) => {
      if (!/SET status = \?, owner = NULL/.test(textOf(statement))) return run(statement)
      tampering.rows = undefined
      refused.resolve()
      return Promise.reject(unavailable(new Error('away')))
    }
    vi.advanceTimersByTime(1_000) // it looks after its lease
    await refused.promise
    await done()
    expect(await leftOf(id)).toMatchObject({ status: 'in_progress', stored: 0 })
    clock.advance(61_000)
    await scene().housekeep('run background responses')
    await done()
    expect([await leftOf(id), stage.one.requests.length]).toEqual([{ events: 0, status: 'failed', stored: 0 }, 1])
  })

  test('R74 what its run was answered is replayed to nobody who knows its id, deleted or not', async () => {
    const stage = await scene().stage()
    const other = (await stage.post('/v2/api-keys', { name: 'other' })).body.key
    const body = { model: stage.model, input: 'x', instructions: 'between us' }
    const { id } = (await stage.ask(RESPONSES, { body: { ...body, background: true } })).json
    await done()
    const [run] = await scene().db.rows<{ digest: string }>(sql`
      SELECT digest FROM idempotency WHERE project_id = ${stage.project.id}`)
    expect(run?.digest).toBeDefined() // it is kept, so that a run after a crash is not charged again
    const guessed = async () => {
      const headers = { authorization: `Bearer ${other}`, 'agent-idempotency-key': `background:${id}` }
      const { headers: told, text } = await stage.ask(RESPONSES, { body: { ...body, instructions: 'mine' }, headers })
      return [told['agent-idempotent-replay'], text.includes('between us')]
    }
    expect(await guessed()).toEqual(['false', false])
    await stage.send('DELETE', `${RESPONSES}/${id}`)
    expect((await guessed())[1]).toBe(false)
  })

  test('R44, R47 one that broke off says what its last event said: the deadline has passed, or the upstream failed', async () => {
    const stage = await scene().stage()
    const told = async (headers: Record<string, string>) => {
      const { id } = (
        await stage.ask(RESPONSES, { body: { model: stage.model, input: 'x', background: true }, headers })
      ).json
      await done()
      const { status, error } = (await stage.get(`${RESPONSES}/${id}`)).body
      const events = (await stage.ask(`${RESPONSES}/${id}?stream=true`, { method: 'GET' })).text
      const last = JSON.parse(events.slice(events.lastIndexOf('data: ') + 'data: '.length))
      expect([status, error]).toEqual(['failed', { code: last.code, message: last.message }])
      return error.code
    }
    stage.one.behave({ cut: { after: 3, how: 'reset' } })
    expect(await told({})).toBe('upstream_error')
    stage.one.behave({ cut: { after: 3, how: 'silence' } })
    expect(await told(hintsHeader({ qos: { deadline_ms: 500 } }))).toBe('deadline_exceeded')
  })

  test('R45 what cannot help to be repeated is not: a deadline that has passed, more than a limit ever allows', async () => {
    const stage = await scene().stage()
    await stage.post(`/v2/api-keys/${stage.key_id}/limits`, { tokens_per_minute: 3_000 })
    stage.one.behave({ wait: new Promise(() => {}) })
    const body = { model: stage.model, input: 'hello', background: true }
    const late = (await stage.ask(RESPONSES, { body, headers: hintsHeader({ qos: { deadline_ms: 50 } }) })).json.id
    const large = (await stage.ask(RESPONSES, { body: { ...body, max_output_tokens: 4_000 } })).json.id
    await done()
    const told = async (id: string) => {
      const { status, error } = (await stage.get(`${RESPONSES}/${id}`)).body
      return [status, error?.code]
    }
    expect(await told(late)).toEqual(['failed', 'deadline_exceeded'])
    expect(await told(large)).toEqual(['failed', 'rate_limit_exceeded'])
    expect(stage.one.requests.length).toBeLessThanOrEqual(1) // a busy machine may not ask at all in time
  })

  test('§4.11 R22 a run that another has taken over is not stopped, so that it is charged once', async () => {
    const stage = await scene().stage({ key: 100_000 })
    const { db, clock } = scene()
    const { id, goOn } = await inTheMiddle(stage)
    const takenOver = () =>
      db.rows(sql`UPDATE background_response SET owner = 'another', lease_until = ${clock.now()} WHERE id = ${id}`)
    await takenOver()
    vi.advanceTimersByTime(1_000) // it looks after its lease
    await takenOver() // behind what it asked the store
    goOn()
    await done()
    expect(await leftOf(id)).toMatchObject({ status: 'in_progress', stored: 1 })
    await scene().housekeep('run background responses')
    await done()
    expect(await leftOf(id)).toEqual({ events: 1, status: 'completed', stored: 1 })
    const { spent, events } = await stage.until(({ held }) => held === 0)
    expect([spent, events.length, stage.one.requests.length]).toEqual([USUAL_COST, 1, 1])
  })
})
