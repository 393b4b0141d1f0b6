// GET /v2/usage/reuse: sums that their own events add up to, money and GPU-seconds, and what to do next.
import { expect, test } from 'vitest'
import { type TestProject, withService } from '../../test/support/service.ts'
import { usageEvent } from '../../test/support/usage-events.ts'
import { rfc3339 } from '../core/clock.ts'
import type { UsageEvent } from './usage-event.ts'
import { usageStore } from './usage-store.ts'

const REUSE = '/v2/usage/reuse'
const STREAMED = { stream: true, keyed: false, fallback_used: false }
const MS_PER_TOKEN = 0.1

withService((service) => {
  async function used(
    { project }: TestProject,
    count: number,
    more: (at: number) => Partial<UsageEvent>,
  ): Promise<void> {
    for (let at = 0; at < count; at++) {
      const created_at = rfc3339(service().clock.now() - 60_000 - at)
      await usageStore(service().db).insert(usageEvent(project.id, { created_at, ...more(at) }), STREAMED)
    }
  }

  const onCluster = (at: number): Partial<UsageEvent> => {
    const input_tokens = 1_000 + at * 100
    const cached_tokens = at % 2 === 0 ? 500 : 0
    return {
      ...{
        cluster_id: 'byc_1',
        provider: 'own',
        profile: 'byoc_native',
        resolved_model: 'm',
        input_tokens,
        cached_tokens,
      },
      ...{ repeated_tokens_est: 900, missed_reuse_tokens: 900 - cached_tokens, savings_micros: 0, attempts: [] },
      ttft_ms: Math.round(20 + MS_PER_TOKEN * (input_tokens - cached_tokens)),
    }
  }

  test('§8.2.3 what was repeated, reused and missed, with money and GPU-seconds; its events add up to it', async () => {
    const home = await service().newProject()
    await used(home, 100, onCluster)
    await used(home, 3, () => ({}))
    const { get } = service().as(await home.keyWith('read'))
    const { status, body } = await service().storingNothing(() => get(REUSE))
    expect([status, body.object, body.events, body.saved_micros]).toEqual([200, 'reuse_summary', 103, 450])
    const [own, managed] = body.places
    expect(own).toMatchObject({ cluster_id: 'byc_1', events: 100, cached_tokens: 25_000, missed_reuse_tokens: 65_000 })
    expect(own.gpu_seconds_saved).toBeCloseTo((25_000 * MS_PER_TOKEN) / 1_000, 0)
    expect(own.saved_micros).toBeNull()
    expect(managed).toMatchObject({ provider: 'openai', saved_micros: 450, gpu_seconds_saved: null })
    for (const place of body.places) {
      const { data } = (await get(place.events_at)).body
      for (const field of ['cached_tokens', 'repeated_tokens_est', 'missed_reuse_tokens'])
        expect(data.reduce((sum: number, event: Record<string, number>) => sum + (event[field] ?? 0), 0)).toBe(
          place[field],
        )
      expect(data).toHaveLength(place.events)
    }
    expect(body.next).toEqual([expect.objectContaining({ kind: 'cluster_misses', missed_tokens: 65_000, place: 0 })])
  })

  test('§8.2.3 nothing of another project, and nothing where nothing was used', async () => {
    await used(await service().newProject(), 3, () => ({}))
    const { body } = await (await service().newProject()).get(REUSE)
    expect(body).toMatchObject({ events: 0, places: [], next: [], saved_micros: 0, gpu_seconds_saved: null })
  })

  test.each([
    ['an unknown parameter', '?model=x', "'model'"],
    ['a time that is none', '?from=yesterday', "'from'"],
    ['an end before its beginning', '?from=2026-02-02T00:00:00Z&to=2026-02-01T00:00:00Z', "'from'"],
    ['more than 90 days', '?from=2026-01-01T00:00:00Z&to=2026-11-01T00:00:00Z', '90 days'],
  ])('§8.2.3 400 on %s, naming it', async (_what, query, named) => {
    const { status, body } = await (await service().newProject()).get(`${REUSE}${query}`)
    expect([status, body.error.type]).toEqual([400, 'invalid_request_error'])
    expect(body.error.message).toContain(named)
  })
})
