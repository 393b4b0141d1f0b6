// GET /v2/usage/reuse: sums that their own events add up to, money and GPU-seconds, and what to do next.
import { expect, test } from 'vitest'
import { type TestProject, withService } from '../../test/support/service.ts'
import { usageEvent } from '../../test/support/usage-events.ts'
import { rfc3339 } from '../core/clock.ts'
import { sql } from '../storage/db.ts'
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

  const bundled = ({ project }: TestProject, id: string) =>
    service().db.rows(sql`
      INSERT INTO bundle (id, project_id, name, prefix_hash, tokens_est, bytes, created_at, made_by, made_under, sequence)
      VALUES (${id}, ${project.id}, 'b', ${id}, 1, 1, '2026-01-01T00:00:00Z', 'key_1', 'key_1', 1)`)

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

  test('§8.2.3 the bundles that were used, the busiest first: within the time, of the project, at most 100', async () => {
    const home = await service().newProject()
    await used(home, 4, () => ({ bundle_id: 'bnd_old', created_at: '2020-01-01T00:00:00Z' }))
    const other = await service().newProject()
    await bundled(other, 'bnd_theirs')
    await used(other, 4, () => ({ bundle_id: 'bnd_theirs' }))
    await used(other, 4, () => ({ bundle_id: 'bnd_100' }))
    await used(home, 3, () => ({}))
    for (const id of ['bnd_old', ...Array.from({ length: 101 }, (_, at) => `bnd_${at}`)]) await bundled(home, id)
    await used(home, 5, () => ({ bundle_id: 'bnd_deleted' }))
    await used(home, 101, (at) => ({ bundle_id: `bnd_${at}` }))
    await used(home, 2, () => ({ bundle_id: 'bnd_100', cached_tokens: 0, missed_reuse_tokens: 80 }))
    const { get } = service().as(await home.keyWith('read'))
    const { body } = await service().storingNothing(() => get(REUSE))
    const [busiest, ...others] = body.bundles
    expect(others).toHaveLength(99)
    const sums = { events: 3, input_tokens: 300, cached_tokens: 60, repeated_tokens_est: 240, missed_reuse_tokens: 180 }
    expect(busiest).toMatchObject({ bundle_id: 'bnd_100', ...sums, cached_share: 0.2 })
    const { data } = (await get(busiest.events_at)).body
    expect(data.map((event: UsageEvent) => event.bundle_id)).toEqual(['bnd_100', 'bnd_100', 'bnd_100'])
    expect(others.every((one: { bundle_id: string }) => /^bnd_\d+$/.test(one.bundle_id))).toBe(true)
  })

  test('§8.2.3 nothing of another project, and nothing where nothing was used', async () => {
    await used(await service().newProject(), 3, () => ({}))
    const { body } = await (await service().newProject()).get(REUSE)
    expect(body).toMatchObject({
      events: 0,
      places: [],
      bundles: [],
      next: [],
      saved_micros: 0,
      gpu_seconds_saved: null,
    })
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
