// §4.15 purge jobs over background responses: what is told of one that came to nothing repeats what was asked, and the
// events of one that was made have all of its answer. Neither outlives a job that names them, in whatever words.
import { expect, test } from 'vitest'
import { sql } from '../../src/storage/db.ts'
import { type Scene, withScene } from '../support/inference-scene.ts'

const RESPONSES = '/v1/responses'

withScene((scene) => {
  type TheStage = Awaited<ReturnType<Scene['stage']>>

  async function asked(stage: TheStage): Promise<string> {
    const body = { model: stage.model, input: 'hello', background: true }
    const { id } = (await stage.ask(RESPONSES, { body })).json
    await scene().inference.jobs.idle()
    scene().clock.advance(1)
    return id
  }

  async function purged(stage: TheStage, filter: object) {
    const { id } = (await stage.post('/v2/purge-jobs', { filter, mode: 'erase' })).body
    await scene().housekeep('run purge jobs')
    const { erased } = (await stage.get(`/v2/purge-jobs/${id}/receipt`)).body
    return erased.find(({ kind }: { kind: string }) => kind === 'responses').count
  }

  async function leftOf(id: string): Promise<number[]> {
    const { db } = scene()
    const tables = [
      sql`SELECT 1 AS one FROM background_response WHERE id = ${id}`,
      sql`SELECT 1 AS one FROM background_events WHERE response_id = ${id}`,
      sql`SELECT 1 AS one FROM stored_response WHERE id = ${id}`,
    ]
    return Promise.all(tables.map(async (rows) => Math.min(1, (await db.rows(rows)).length)))
  }

  test('§4.15 one that failed is erased where it is named, and the receipt counts it', async () => {
    const stage = await scene().stage()
    stage.one.behave({ status: 400, body: JSON.stringify({ error: { message: 'no' } }) })
    const [id, other] = [await asked(stage), await asked(stage)]
    expect((await stage.get(`${RESPONSES}/${id}`)).body).toMatchObject({ status: 'failed' })
    expect(await purged(stage, { response_ids: [id] })).toBe(1)
    expect((await stage.get(`${RESPONSES}/${id}`)).status).toBe(404)
    expect([await leftOf(id), await leftOf(other)]).toEqual([
      [0, 0, 0],
      [1, 0, 0],
    ])
  })

  test('§4.15 of one that was made the events go too, where the job names its call or its response', async () => {
    const stage = await scene().stage()
    const [by_trace, by_id, other] = [await asked(stage), await asked(stage), await asked(stage)]
    const [call] = await scene().db.rows<{ trace_id: string }>(sql`
      SELECT trace_id FROM stored_response WHERE id = ${by_trace}`)
    expect(await leftOf(by_trace)).toEqual([1, 1, 1])
    expect(await purged(stage, { trace_ids: [call?.trace_id] })).toBe(1)
    expect(await purged(stage, { response_ids: [by_id] })).toBe(1)
    expect((await stage.get(`${RESPONSES}/${by_trace}?stream=true`)).status).toBe(400)
    expect([await leftOf(by_trace), await leftOf(by_id), await leftOf(other)]).toEqual([
      [0, 0, 0],
      [0, 0, 0],
      [1, 1, 1],
    ])
  })
})
