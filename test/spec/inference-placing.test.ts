// R84 over the wire: among clusters a call goes to where its prompt is; traces and route-explain tell why, and nothing
// stays in flight however a call ends.
import { describe, expect, test } from 'vitest'
import { hintsHeader } from '../support/inference-client.ts'
import { type Stage, withScene } from '../support/inference-scene.ts'
import type { TestUpstream } from '../support/upstream.ts'

const words = (name: string) => `${name} said this and that `.repeat(800)
const says = (name: string, ...more: string[]) => ({
  model: 'own-model',
  messages: [words(name), ...more].map((content) => ({ role: 'user', content })),
})

async function clusterOf(stage: Stage, upstream: TestUpstream, name: string) {
  const cluster = { name, region: 'eu-1', endpoint: upstream.base_url, orchestrator: 'none' }
  const { body } = await stage.post('/v2/byoc/clusters', cluster)
  const beat = (sequence: number, status = 'active') =>
    stage.post(`/v2/byoc/clusters/${body.id}/heartbeat`, {
      ...{ status, sequence, models: [{ id: 'own-model', kv_bytes_per_token: 1_000 }] },
      ...{ load: { prefill_tokens_per_s: 10_000 }, cache_tiers: [{ name: 'gpu_hbm', capacity_bytes: 1e9 }] },
    })
  await beat(1)
  return { id: body.id as string, beat }
}

async function twoClusters(stage: Stage) {
  const [one, two] = [await clusterOf(stage, stage.one, 'atlas'), await clusterOf(stage, stage.two, 'borealis')]
  /** Which of the two a call goes to. */
  const placeOf = async (body: object, headers = {}) =>
    (await stage.chat(body, { headers })).headers['agent-resolved-provider']
  const standings = async (body: object) => {
    const { candidates } = (await stage.post('/v2/route-explain', { model: 'own-model', request: body })).body
    return candidates.map(({ provider, standing }: { provider: string; standing: object }) => ({
      provider,
      ...standing,
    }))
  }
  return { one, two, placeOf, standings }
}

withScene((scene) => {
  describe('two clusters', () => {
    test.each([{ stream: false }, { stream: true }])(
      'R84 a prompt goes back to where it was read, by its words alone: $stream',
      async (form) => {
        const stage = await scene().stage()
        const { placeOf } = await twoClusters(stage)
        const first = await Promise.all(
          ['a', 'b', 'c', 'd', 'e', 'f'].map(async (name) => {
            return (await stage.chat({ ...says(name), ...form })).headers['agent-resolved-provider']
          }),
        )
        expect(new Set(first).size).toBe(2) // what is on its way keeps others from going there
        for (const [at, name] of ['a', 'b', 'c', 'd', 'e', 'f'].entries())
          expect(await placeOf(says(name, 'and then?'))).toBe(first[at])
        await stage.audit()
      },
    )

    test('R84 the trace has what was predicted beside what was observed; route-explain the same before', async () => {
      const stage = await scene().stage()
      const { standings } = await twoClusters(stage)
      await stage.chat(says('a'))
      const [best, other] = await standings(says('a', 'more'))
      expect(best.held_tokens).toBeGreaterThan(4_000)
      expect(best.uncached_tokens).toBeLessThan(100)
      expect(other).toMatchObject({ held_tokens: 0, in_flight_tokens: 0, tokens_per_s: 10_000 })
      expect(other.expected_first_token_ms).toBeGreaterThan(400)
      const { headers } = await stage.chat(says('a', 'more'))
      const { body } = await stage.get(`/v2/traces/${headers['agent-trace-id']}`)
      expect(body.placing.candidates[0]).toMatchObject({ held_tokens: best.held_tokens })
      expect(body.placing).toMatchObject({ chosen: body.target, observed: { input_tokens: expect.any(Number) } })
      expect(body.placing.observed.first_token_ms).not.toBeNull()
    })

    test('R84 require goes to where it is, avoid to where it is not; both are named', async () => {
      const stage = await scene().stage()
      const { placeOf } = await twoClusters(stage)
      const held = await placeOf(says('a'))
      const required = await stage.chat(says('a', 'x'), { headers: hintsHeader({ reuse: { preference: 'require' } }) })
      expect([required.headers['agent-resolved-provider'], required.headers['agent-hints-honored']]).toEqual([
        held,
        'reuse',
      ])
      const avoiding = await stage.chat(says('a', 'y'), { headers: hintsHeader({ reuse: { preference: 'avoid' } }) })
      expect(avoiding.headers['agent-resolved-provider']).not.toBe(held)
      expect(avoiding.headers['agent-hints-honored']).toBe('reuse')
    })

    test('R84 nothing stays in flight: after answers, upstream errors, refusals and failovers', async () => {
      const stage = await scene().stage()
      const { standings } = await twoClusters(stage)
      for (const behaviour of [
        { status: 400, body: '{"error":{"message":"no"}}' },
        { status: 503, body: '' },
      ]) {
        stage.one.next(behaviour)
        stage.two.next(behaviour)
        await stage.chat(says('a'))
        await stage.chat({ ...says('b'), stream: true })
      }
      for (const { in_flight_tokens } of await standings(says('c'))) expect(in_flight_tokens).toBe(0)
    })

    test('R84 a cluster that was started anew, or was down, holds nothing any more', async () => {
      const stage = await scene().stage()
      const { one, two, standings, placeOf } = await twoClusters(stage)
      await placeOf(says('a'))
      expect((await standings(says('a')))[0].held_tokens).toBeGreaterThan(4_000)
      for (const cluster of [one, two]) await cluster.beat(0) // its agent counts from the beginning
      expect((await standings(says('a')))[0].held_tokens).toBe(0)
      await placeOf(says('a'))
      for (const cluster of [one, two]) await cluster.beat(1, 'down')
      await standings(says('a'))
      for (const cluster of [one, two]) await cluster.beat(2)
      expect((await standings(says('a')))[0].held_tokens).toBe(0)
    })
  })
})
