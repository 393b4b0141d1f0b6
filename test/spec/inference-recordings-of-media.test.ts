// §4.16: what is not recorded of a project that records: images, sound, judgements and rankings; and what is said of it.
import { expect, test } from 'vitest'
import { withScene } from '../support/inference-scene.ts'
import { MODERATION, mediaConfig } from '../support/media-scene.ts'

const JUDGED = { id: 'modr-1', model: MODERATION, results: [{ flagged: true, categories: { violence: true } }] }
const RANKED = { id: 'rr', results: [{ index: 1, relevance_score: 0.9 }] }

withScene(
  (scene) => {
    test('§4.16 judgements and rankings are not recorded, and whoever looks for one is told that, and nothing untrue', async () => {
      const stage = await scene().stage()
      await stage.post('/v2/project/recordings', { enabled: true })
      stage.one.next({ body: JUDGED }, { body: RANKED })
      const heard = [
        await stage.ask('/v1/moderations', { body: { input: 'I will' } }),
        await stage.ask('/v1/rerank', { body: { model: 'rank', query: 'which', documents: ['one', 'two'] } }),
      ]
      await scene().housekeep('write recordings')
      expect((await stage.get('/v2/recordings')).body.data).toEqual([])
      const why = 'Calls for images, sound, judgements and rankings are not recorded'
      for (const { status, headers } of heard) {
        const trace_id = headers['agent-trace-id']
        const { status: gone, body } = await stage.get(`/v2/recordings/${trace_id}`)
        expect([status, gone, body.error.message]).toEqual([200, 404, expect.stringContaining(why)])
        const { recording } = (await stage.get(`/v2/traces/${trace_id}`)).body
        expect(recording).toEqual({ recorded: false, why_not: expect.stringContaining(why) })
      }
    })
  },
  { config: (one, two) => ({ ...mediaConfig(one, two), retention: { full_fidelity: true, days: 7 } }) },
)
