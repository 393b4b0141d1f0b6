// 0352: this version over stores that an earlier one left, and beside a server of that version while replicas are
// replaced. The stores are in test/fixtures; the earlier server is built from the history.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { buildOlder, hasOlder } from '../support/older-version.ts'
import { planted } from '../support/planted.ts'
import { emptied, type Fixture, fixtureBytes, readFixture, restore } from '../support/upgrade-fixture.ts'
import { CALL_MICROS, caller, chat, heldIn, type Left, live, until, upgradeUpstream } from '../support/upgrade-story.ts'
import { ENGINES, type Engine, openScene, type Scene } from '../torture/scene.ts'
import { spawnServer } from '../torture/server-process.ts'

const HOUR_MS = 3_600_000

async function openUpgrade(engine: Engine, replicas = 1) {
  const { upstream, place } = await upgradeUpstream()
  const scene = await openScene({ engine, replicas, ...place })
  onTestFinished(async () => {
    await scene.close()
    await upstream.close()
  })
  return scene
}

/** A server of this version, an hour after the other one was killed. */
async function upgraded(engine: Engine, fixture: Fixture, change = ''): Promise<Scene> {
  const scene = await openUpgrade(engine)
  await restore(scene, fixture)
  if (change) await scene.write(change)
  const clock_file = join(scene.folder, 'clock')
  writeFileSync(clock_file, String(fixture.left.at_ms + HOUR_MS - Date.now()))
  await scene.start(0, clock_file)
  return scene
}

/** Which reads are answered otherwise than before. What is new in an answer is no difference. */
async function differences(scene: Scene, { reads }: Left): Promise<string[]> {
  const admin = caller(scene.client)
  const found: string[] = []
  for (const [path, before] of Object.entries(reads))
    try {
      expect(withoutUse(await admin.get(path))).toMatchObject(withoutUse(before) as object)
    } catch (error) {
      found.push(`${path}: ${(error as Error).message}`)
    }
  return found
}

/** Reading is a use of the key that reads. */
const withoutUse = (read: unknown) =>
  JSON.parse(JSON.stringify(read, (name, value) => (name === 'last_used_at' ? undefined : value)))

interface Sums {
  calls: number
  cost: number
}
const sumsOf = async (scene: Scene): Promise<Sums> => {
  const [sums] = await scene.rows<Sums>('SELECT COUNT(*) AS calls, SUM(charged_micros) AS cost FROM usage_event')
  return { calls: Number(sums?.calls), cost: Number(sums?.cost) }
}

test.each(ENGINES)(
  '0352 a store of the earlier version, %s: all reads back, holds come home, calls go on',
  async (engine) => {
    const fixture = readFixture(engine)
    const { left } = fixture
    expect(fixtureBytes(engine).length).toBeLessThan(100_000)
    const scene = await upgraded(engine, fixture)
    expect(await differences(scene, left)).toEqual([])
    expect(await sumsOf(scene)).toEqual({ calls: 16, cost: 16 * CALL_MICROS })

    const app = caller(scene.client, left.keys.app.key)
    const replayed = await app.send('/v1/chat/completions', left.keyed.body, {
      'agent-idempotency-key': left.keyed.key,
    })
    expect([replayed.status, replayed.body.toString()]).toEqual([200, left.keyed.answer])
    expect(replayed.headers['agent-idempotent-replay']).toBe('true')
    expect(await sumsOf(scene)).toEqual({ calls: 16, cost: 16 * CALL_MICROS })
    await until(async () => (await heldIn(scene)) === 0)

    await app.post('/v1/chat/completions', chat('best', 'after'), { 'x-session-id': left.session_id })
    expect(await app.get(`/v2/sessions/${left.session_id}`)).toMatchObject({ turns: 2 })
    const stored = Object.keys(left.reads).find((path) => /^\/v1\/responses\/[^/]+$/.test(path)) ?? ''
    const previous_response_id = stored.split('/').at(-1)
    await app.post('/v1/responses', {
      model: 'large',
      input: 'and on'.padEnd(100, '.'),
      previous_response_id,
      max_output_tokens: 200,
    })
    await until(async () => (await sumsOf(scene)).calls === 18)
    expect(await spentBy(scene, left.keys.app.id)).toBe(18 * CALL_MICROS)
    expect(scene.loggedErrors()).toEqual([])
  },
)

planted('0352 planted: a store that lost a call is noticed', async () => {
  const fixture = readFixture('sqlite')
  const losing = await upgraded(
    'sqlite',
    fixture,
    'DELETE FROM usage_event WHERE sequence = (SELECT MIN(sequence) FROM usage_event)',
  )
  expect(await differences(losing, fixture.left)).not.toEqual([])
})

async function spentBy(scene: Scene, key_id: string): Promise<number> {
  const { data } = await caller(scene.client).get('/v2/api-keys')
  return data.find(({ id }: { id: string }) => id === key_id).spent_micros
}

test.skipIf(!hasOlder())(
  '0352 the earlier server beside this one on PostgreSQL: both serve, one budget, one memory',
  async () => {
    const older = buildOlder()
    onTestFinished(older.remove)
    const scene = await emptied(await openUpgrade('postgres', 2))
    const { folder, log_file, env, ports } = scene
    const launchOlder = () => spawnServer({ port: ports[0] as number, folder, log_file, env, built: older.built })
    const before = launchOlder()
    await before.ready
    const left = await live(scene, () => before.kill())
    const old = launchOlder()
    onTestFinished(() => old.kill())
    await old.ready
    await scene.start(1) // migrates, while the other one serves

    const [on_old, on_new] = scene.clients.map((client) => caller(client, left.keys.app.key))
    if (!on_old || !on_new) throw new Error('two servers')
    const keep = (key: string, text: string) =>
      [JSON.stringify(chat('large', text)), { 'agent-idempotency-key': key }] as const
    for (const [key, first, second] of [
      ['by-old', on_old, on_new],
      ['by-new', on_new, on_old],
    ] as const) {
      const [body, headers] = keep(key, key)
      const made = await first.send('/v1/chat/completions', body, headers)
      const again = await second.send('/v1/chat/completions', body, headers)
      expect([made.status, again.body.toString()]).toEqual([200, made.body.toString()])
      expect(again.headers['agent-idempotent-replay']).toBe('true')
    }
    const limit_micros = 40 * CALL_MICROS
    await caller(scene.client).post(`/v2/api-keys/${left.keys.app.id}/budget`, { limit_usd: limit_micros / 1e6 })
    const statuses: number[] = []
    for (let n = 0; n < 40; n++) {
      const body = JSON.stringify(chat('large', `${n}`))
      statuses.push((await (n % 2 ? on_old : on_new).send('/v1/chat/completions', body)).status)
    }
    const served = statuses.indexOf(429)
    expect([...new Set(statuses.slice(0, served)), ...new Set(statuses.slice(served))]).toEqual([200, 429])
    expect(served).toBeGreaterThan(10) // both served, both refused, and what a call may cost at most has to fit
    expect(served).toBeLessThanOrEqual(40 - 18)
    expect(await old.stop()).toBe(0)
    const [after] = (await caller(scene.clients[1] as (typeof scene.clients)[number]).get('/v2/api-keys')).data.filter(
      ({ id }: { id: string }) => id === left.keys.app.id,
    )
    expect(after.spent_micros).toBe((18 + served) * CALL_MICROS)
  },
)
