// 0360: providers that are asked, outside of calls, whether they are there.
import { expect, test } from 'vitest'
import { MAX_OUTPUT, PRICES, withScene } from '../support/inference-scene.ts'

const EVERY_S = 5
const MODEL = 'probed-model'
const LEFT = [{ target: 'provider:probed', left_by: 'everyone', kind: undefined }]

withScene(
  (scene) => {
    async function probe(): Promise<void> {
      scene().clock.advance(EVERY_S * 1_000)
      await scene().housekeep('probe providers')
    }
    const asked = () => scene().one.requests.filter(({ method }) => method === 'GET').length

    test('0360 a provider that is away is left alone before any call finds out; the first probe that finds it ends that', async () => {
      const stage = await scene().stage()
      const left = () => scene().inference.leftAlone(stage.project.id)
      const call = () => stage.chat({ model: MODEL })
      await probe() // from here on its time is known
      stage.one.behave({ instead: 'reset' })
      await probe()
      expect(left()).toEqual([])
      await probe()
      expect(left()).toEqual(LEFT)
      stage.one.behave({})
      const calls = stage.one.requests.length
      const refused = await call()
      expect([refused.status, stage.one.requests.length - calls]).toEqual([503, 0])
      await probe()
      expect(left()).toEqual([])
      expect((await call()).status).toBe(200)
      const text = (await scene().as().get('/metrics')).bytes.toString()
      expect(text).toMatch(/switchyard_provider_probes_total\{provider="probed",outcome="not_there"\} 2/)
    })

    test('0360 a refusal and an unknown path are answers; others than those that say so are not asked', async () => {
      const stage = await scene().stage()
      for (const status of [401, 404, 429]) {
        stage.one.behave({ status, body: {} })
        const before = asked()
        await probe()
        expect([asked() - before, scene().inference.leftAlone(stage.project.id)]).toEqual([1, []])
      }
      for (const status of [500, 503]) {
        stage.one.behave({ status, body: {} })
        await probe()
      }
      expect(scene().inference.leftAlone(stage.project.id)).toEqual(LEFT)
      stage.one.behave({})
      await probe()
    })
  },
  {
    config: (one) => ({
      providers: [
        {
          id: 'probed',
          base_url: one.base_url,
          api_key: 'sk-upstream',
          probe_every_s: EVERY_S,
          models: [{ id: MODEL, ...PRICES, max_output_tokens: MAX_OUTPUT }],
        },
      ],
    }),
  },
)
