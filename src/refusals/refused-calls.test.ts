// R80: refused generations on their way to the store. Nothing twice, nothing lost but by a crash, never without bound,
// and nobody's push out another's.
import { expect, test } from 'vitest'
import { heldClock, NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { DAY_MS, MINUTE_MS } from '../core/clock.ts'
import { newTraceId } from '../core/ids.ts'
import { alikeName, type Refused, type RefusedCall } from './refused-call.ts'
import { refusedCallStore } from './refused-call-store.ts'
import { refusedCalls } from './refused-calls.ts'

const refused = (project_id: string, more: Partial<Refused['asked']> = {}, message = 'No.'): Refused => ({
  asked: {
    trace_id: newTraceId(NOON),
    project_id,
    key_id: 'key_1',
    received_at: NOON - 5,
    endpoint: '/v1/chat/completions',
    model: 'm',
    ...more,
  },
  kind: 'budget',
  about: { target: 'provider:main', provider: 'main' },
  told: {
    status: 429,
    type: 'quota_exceeded',
    code: 'quota_exceeded',
    message,
    headers: { 'agent-a': 'b', other: 'c' },
  },
})

/** In memory, as the store would have it. */
function recorder() {
  const rows = new Map<string, RefusedCall>()
  const state = { away: false, trims: [] as string[] }
  return {
    rows,
    state,
    async add(calls: readonly RefusedCall[]) {
      if (state.away) throw new Error('away')
      for (const call of calls) {
        const there = rows.get(call.trace_id)
        rows.set(call.trace_id, { ...call, count: call.count + (there?.count ?? 0) })
      }
    },
    async trim(project_id: string) {
      state.trims.push(project_id)
    },
  }
}

function start() {
  const clock = heldClock()
  const store = recorder()
  let lost = 0
  const calls = refusedCalls(store, clock, () => lost++)
  const keptOf = (project_id: string) => [...store.rows.values()].filter((call) => call.project_id === project_id)
  return { clock, store, calls, keptOf, lost: () => lost }
}

const countsIn = ({ rows }: ReturnType<typeof recorder>) =>
  [...rows.values()].map(({ count }) => count).sort((a, b) => b - a)

test('R80 equal ones are counted at the first; the next few are kept too, for clients that repeat', async () => {
  const { calls, store, clock } = start()
  for (let n = 0; n < 10; n++) calls.note(refused('prj_1'))
  await calls.flush()
  for (let n = 0; n < 10; n++) calls.note(refused('prj_1'))
  await calls.flush()
  await calls.flush()
  expect(countsIn(store)).toEqual([20, 1, 1, 1])
  clock.advance(MINUTE_MS)
  calls.note(refused('prj_1'))
  await calls.flush()
  expect(store.rows.size).toBe(5)
})

test.each([
  ['another key', refused('prj_1', { key_id: 'key_2' }), false],
  ['another model', refused('prj_1', { model: 'n' }), false],
  ['another project', refused('prj_2'), false],
  ['another layer', { ...refused('prj_1'), kind: 'scope' as const }, false],
  ['other words', refused('prj_1', {}, 'Never.'), false],
  ['another number', refused('prj_1', {}, 'Wait 17 s.'), true],
  ['another name', refused('prj_1', {}, "Wait 3 s for 'b'."), false],
])('R80 %s: equal or not', (_what, other, is_alike) => {
  const one = refused('prj_1', {}, is_alike ? 'Wait 3 s.' : 'No.')
  expect(alikeName(one) === alikeName(other)).toBe(is_alike)
})

test('R80 what could not be written is written the next time, once', async () => {
  const { calls, store } = start()
  const one = refused('prj_1')
  calls.note(one)
  store.state.away = true
  await expect(calls.flush()).rejects.toThrow('away')
  expect(calls.withWaiting('prj_1', one.asked.trace_id, undefined)).toMatchObject({ count: 1, model: 'm' })
  store.state.away = false
  calls.note(refused('prj_1'))
  await calls.flush()
  await calls.flush()
  expect(countsIn(store)).toEqual([2, 1])
})

test('R80 what waits is its own project’s alone', () => {
  const { calls } = start()
  const one = refused('prj_1')
  calls.note(one)
  expect(calls.withWaiting('prj_2', one.asked.trace_id, undefined)).toBeUndefined()
})

test('R80 one project keeps 60 of a minute, whatever it thinks of, and pushes out nobody', async () => {
  const { calls, keptOf, lost } = start()
  for (let n = 0; n < 500; n++) calls.note(refused('prj_loud', { model: `m${n}` }))
  calls.note(refused('prj_quiet'))
  await calls.flush()
  expect([keptOf('prj_loud').length, keptOf('prj_quiet').length, lost()]).toEqual([60, 1, 440])
})

test('R80 while the store is away, one project waits with 120, and all of them with 5,000', () => {
  const { calls, clock, lost } = start()
  for (let minute = 0; minute < 5; minute++) {
    for (let n = 0; n < 60; n++) calls.note(refused('prj_loud', { model: `m${n}` }))
    clock.advance(MINUTE_MS)
  }
  expect(lost()).toBe(180)
  for (let n = 0; n < 5_000; n++) calls.note(refused(`prj_${n}`))
  expect(lost()).toBe(300)
})

test('R80 what it says is in bounds, and can be stored', async () => {
  const { calls, store } = start()
  const long = 'x\0'.repeat(100_000)
  calls.note({ ...refused('prj_1', { model: long }, long), about: { attempts: Array(50).fill({ n: 1 }) } })
  await calls.flush()
  const [row] = store.rows.values()
  expect(JSON.stringify(row).length).toBeLessThan(10_000)
  expect(JSON.stringify(row)).not.toContain('\\u0000')
  expect([row?.attempts.length, row?.headers]).toEqual([10, { 'agent-a': 'b' }])
})

test('R80 a quota is looked after at a project’s first rows, and at every hundredth', async () => {
  const { calls, clock, store } = start()
  for (let minute = 0; minute < 5; minute++) {
    for (let n = 0; n < 60; n++) calls.note(refused('prj_1', { model: `m${n}` }))
    await calls.flush()
    clock.advance(MINUTE_MS)
  }
  expect(store.state.trims).toHaveLength(4) // of 300 rows
})

withDb((db) => {
  const store = () => refusedCallStore(db())
  const written = async (project_id: string, count: number, at_ms = NOON) => {
    const calls: RefusedCall[] = []
    const book = refusedCalls(
      { add: async (part) => void calls.push(...part), trim: async () => {} },
      heldClock(),
      () => {},
    )
    book.note(refused(project_id))
    await book.flush()
    const [one] = calls as [RefusedCall]
    const all = Array.from({ length: count }, (_, n) => ({ ...one, trace_id: newTraceId(at_ms + n), at_ms: at_ms + n }))
    await store().add(all)
    return all
  }

  test('R80 what was written is found as it was, by its project alone', async () => {
    const [one] = (await written('prj_a', 1)) as [RefusedCall]
    expect(await store().find('prj_a', one.trace_id)).toEqual(one)
    expect(await store().find('prj_b', one.trace_id)).toBeUndefined()
    await store().add([{ ...one, count: 5 }])
    expect(await store().find('prj_a', one.trace_id)).toEqual({ ...one, count: 6 })
  })

  test('R80 beyond 10,000 of a project the oldest go, and nobody else’s', async () => {
    const [other] = (await written('prj_other', 1)) as [RefusedCall]
    const all = await written('prj_many', 10_003)
    await store().trim('prj_many')
    const there = async (at: number) => (await store().find('prj_many', all[at]?.trace_id ?? '')) !== undefined
    expect([await there(2), await there(3), await there(10_002)]).toEqual([false, true, true])
    expect(await store().find('prj_other', other.trace_id)).toBeDefined()
    await store().trim('prj_other')
    expect(await store().find('prj_other', other.trace_id)).toBeDefined()
  })

  test('R80 swept after 30 days, not a moment before', async () => {
    const [old] = (await written('prj_old', 1, 1_000)) as [RefusedCall]
    await store().sweep(30 * DAY_MS + 999)
    expect(await store().find('prj_old', old.trace_id)).toBeDefined()
    expect(await store().sweep(30 * DAY_MS + 1_000)).toBe(false)
    expect(await store().find('prj_old', old.trace_id)).toBeUndefined()
  })
})
