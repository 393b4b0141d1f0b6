// §9.4: who activated what and when, what was active before, and how the calls of each release went.
import { expect, test } from 'vitest'
import { withService } from '../../test/support/service.ts'
import { usageEvent } from '../../test/support/usage-events.ts'
import { HOUR_MS, rfc3339 } from '../core/clock.ts'
import { usageStore } from '../usage/usage-store.ts'
import { activationStore } from './activation-store.ts'

const TARGET = { provider: 'openai', model: 'gpt-4o' }

withService((service) => {
  /** An alias of three releases, of which the third was active before the first. */
  async function moved() {
    const home = await service().newProject()
    const { current_release_id: first, id: alias_id } = (
      await home.post('/v2/aliases', { name: 'fast', targets: [TARGET] })
    ).body
    const add = async () => (await home.post('/v2/aliases/fast/releases', { targets: [TARGET] })).body.id as string
    const [second, third] = [await add(), await add()]
    for (const release of [third, first, first]) {
      service().clock.advance(HOUR_MS)
      expect((await home.post(`/v2/alias-releases/${release}/activate`)).status).toBe(200)
    }
    return { ...home, alias_id, first, second, third }
  }

  test('0327 200: every move is told with what was active before; a repeat is none', async () => {
    const { get, key_id } = await moved()
    const { data } = (await get('/v2/aliases/fast/activations')).body
    expect(data.map((one: Record<string, unknown>) => [one.version, one.previous_version, one.activated_by])).toEqual([
      [1, 3, key_id],
      [3, 1, key_id],
      [1, null, key_id],
    ])
    const [now] = [service().clock.now()]
    const range = `from=${rfc3339(now - 90 * 60_000)}&to=${rfc3339(now)}`
    const within = (await get(`/v2/alias-activations?${range}`)).body.data
    expect(within).toEqual([data[0]])
  })

  test('0327 R74: who did it is for admins; §5.8: other projects see nothing', async () => {
    const { keyWith } = await moved()
    const reader = service().as(await keyWith('read'))
    const { data } = (await reader.get('/v2/aliases/fast/activations')).body
    expect(data.map((one: { activated_by: unknown }) => one.activated_by)).toEqual([null, null, null])
    const stranger = await service().newProject()
    expect((await stranger.get('/v2/aliases/fast/activations')).status).toBe(404)
    expect((await stranger.get('/v2/aliases/fast/outcomes')).status).toBe(404)
    const all = `from=${rfc3339(0)}&to=${rfc3339(service().clock.now() + 1)}`
    expect((await stranger.get(`/v2/alias-activations?${all}`)).body.data).toEqual([])
    for (const bad of ['', `from=${rfc3339(5)}&to=${rfc3339(5)}`, 'from=x&to=y'])
      expect((await stranger.get(`/v2/alias-activations?${bad}`)).status).toBe(400)
  })

  test('0327 200: cost, failures and first token of each release, side by side', async () => {
    const { get, project, first, third } = await moved()
    const call = (alias_release_id: string, more: object) =>
      usageStore(service().db).insert(usageEvent(project.id, { alias_release_id, ...more }))
    for (const ttft_ms of [100, 200, 900]) await call(first, { ttft_ms, charged_micros: 10 })
    await call(first, { status: 'failed', ttft_ms: null, charged_micros: 0 })
    await call(third, { status: 'client_left', ttft_ms: 50, charged_micros: 1 })
    await usageStore(service().db).insert(usageEvent(project.id, {})) // by its own name
    const { data } = (await get('/v2/aliases/fast/outcomes')).body
    const shown = data.map((one: Record<string, unknown>) => [
      one.version,
      one.requests,
      one.failed,
      one.charged_micros,
      one.ttft_p50_ms,
      one.ttft_p95_ms,
    ])
    expect(shown).toEqual([
      [3, 1, 0, 1, 50, 50],
      [2, 0, 0, 0, null, null],
      [1, 4, 1, 30, 200, 900],
    ])
  })

  test('0327 a thousand moves of an alias are kept, and no more', async () => {
    const { project, alias_id, first, second } = await moved()
    const alias = { id: alias_id as string, project_id: project.id, name: 'fast' }
    const store = activationStore(service().db)
    await service().db.transaction(async (tx) => {
      for (let n = 0; n < 1_001; n++)
        await activationStore(tx).record(
          { alias, release_id: n % 2 ? first : second, previous_release_id: null, actor: `key_${n}` },
          service().clock.now() + n,
        )
    })
    const kept = await store.ofAlias(alias)
    expect(kept).toHaveLength(1_000)
    expect([kept[0]?.activated_by, kept.at(-1)?.activated_by]).toEqual(['key_1000', 'key_1'])
  })
})
