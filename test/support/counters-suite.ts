// What every adapter of the counters must do (§8.1, R49), whatever it counts in. `make` gives one that counted nothing.
import { expect, test } from 'vitest'
import { type Ask, type Counters, LEASE_MS, type LeaseAsk, type Verdict } from '../../src/counters/counters.ts'
import { NOON } from './clock.ts'
import { diceFrom } from './fuzz-values.ts'

export const ask = (more: Partial<Ask> = {}): Ask => ({
  layer: 'key',
  name: 'requests_per_minute',
  subject: 'key_1',
  home: 'prj_1',
  limit: 10,
  amount: 1,
  shadow: false,
  ...more,
})

export const streamAsk = (id: string, limit: number, shadow = false): LeaseAsk => ({
  lease: { subject: 'key_1', home: 'prj_1', id },
  limit,
  shadow,
})

/** What is left, told without taking anything. */
export async function leftOf(counters: Counters, one: Ask, now = NOON): Promise<number | undefined> {
  return (await counters.take([{ ...one, amount: 0 }], now)).readings[0]?.left
}

const correctionOf = ({ layer, name, subject, home }: Ask, second: number, by: number) => ({
  layer,
  name,
  subject,
  home,
  second,
  by,
})

export async function taken(verdict: Verdict | Promise<Verdict>): Promise<Extract<Verdict, { kind: 'taken' }>> {
  const decided = await verdict
  if (decided.kind !== 'taken') throw new Error('refused')
  return decided
}

/** R49, T-67: whatever is refused, by whichever of the limits, nothing of the others is used. */
export async function takenByRefusals(counters: Counters): Promise<number[]> {
  const roomy = [
    ask({ layer: 'edge', name: 'read_per_minute', subject: '203.0.113.7', limit: 100 }),
    ask({ limit: 100 }),
    ask({ layer: 'project', subject: 'prj_1', limit: 100 }),
    ask({ name: 'tokens_per_minute', limit: 100_000, amount: 500 }),
  ]
  const lease = streamAsk('s1', 1)
  for (let full = 0; full <= roomy.length; full++) {
    const asks = roomy.map((one, at) => (at === full ? { ...one, subject: `${one.subject} full`, limit: 1 } : one))
    const tight = asks[full]
    if (tight) await counters.take([{ ...tight, amount: 1 }], NOON)
    else await counters.take([], NOON, [lease])
    const refused = await counters.take(asks, NOON, tight ? undefined : [streamAsk('s2', 1)])
    if (refused.kind !== 'refused' || refused.by !== full) throw new Error(`not refused by ${full}`)
  }
  return Promise.all(roomy.map(async (one) => one.limit - ((await leftOf(counters, one)) ?? 0)))
}

export interface TokenFigures {
  admitted: number
  /** The most that was on record within any 61 seconds, at any moment. */
  peak: number
  /** What the counters say is used in the end, less what really was. */
  drift: number
}

/** F10: calls that overlap at random, each settled to no more than its estimate. */
export async function settleTokens(counters: Counters, calls: number, limit: number): Promise<TokenFigures> {
  const dice = diceFrom(10)
  const tokens = (amount: number) => ask({ name: 'tokens_per_minute', limit, amount })
  const on_record: number[] = []
  const open: { second: number; estimate: number; arrived_s: number }[] = []
  let now = NOON
  let figures: TokenFigures = { admitted: 0, peak: 0, drift: 0 }
  const recorded = () => on_record.slice(-61).reduce((sum, one) => sum + one, 0)

  async function settleOne(): Promise<void> {
    const [call] = open.splice(dice.below(open.length), 1)
    if (!call) return
    const by = dice.below(call.estimate + 1) - call.estimate
    await counters.correct([correctionOf(tokens(0), call.second, by)])
    on_record[call.arrived_s] = (on_record[call.arrived_s] ?? 0) + by
  }

  for (let n = 0; n < calls; n++) {
    if (dice.chance(0.005)) now += 1_000
    const estimate = 1 + dice.below(4_000)
    const arrived_s = (now - NOON) / 1_000
    on_record[arrived_s] ??= 0
    const verdict = await counters.take([tokens(estimate)], now)
    if (verdict.kind === 'taken') {
      figures = { ...figures, admitted: figures.admitted + 1 }
      on_record[arrived_s] += estimate
      open.push({ second: verdict.second, estimate, arrived_s })
    }
    figures.peak = Math.max(figures.peak, recorded())
    while (dice.chance(0.55) && open.length > 0) await settleOne()
  }
  while (open.length > 0) await settleOne()
  figures.drift = limit - ((await leftOf(counters, tokens(0), now)) ?? 0) - recorded()
  return figures
}

/** F9 in small: streams that end, and streams whose end nobody hears of. How many places are lost half a minute on. */
export async function placesLost(counters: Counters): Promise<number> {
  const limit = 5
  for (let round = 0; round < 100; round++) {
    const now = NOON + round * (LEASE_MS + 1)
    for (let n = 0; n < limit; n++) {
      const one = streamAsk(`${round} ${n}`, limit)
      if ((await counters.take([], now, [one])).kind === 'taken' && n % 2 === 0) await counters.release(one.lease)
    }
  }
  const later = NOON + 100 * (LEASE_MS + 1)
  let open = 0
  while (open < limit && (await counters.take([], later, [streamAsk(`late ${open}`, limit)])).kind === 'taken') open++
  return limit - open
}

export function countersSuite(make: () => Counters | Promise<Counters>): void {
  test('R49 T-67 a refusal, by whichever limit, uses nothing of the others', async () => {
    expect(await takenByRefusals(await make())).toEqual([0, 0, 0, 0])
  })

  test('R49 where several refuse, the longest wait is told, since only that one suffices', async () => {
    const counters = await make()
    const short = ask({ limit: 1 })
    const long = ask({ layer: 'project', limit: 1 })
    await counters.take([short], NOON)
    await counters.take([long], NOON + 30_000)
    expect(await counters.take([short, long], NOON + 40_000)).toMatchObject({ by: 1, wait_s: 51 })
    expect((await counters.take([short, long], NOON + 91_000)).kind).toBe('taken')
  })

  test('§8.1 layers, names and subjects are counted apart', async () => {
    const counters = await make()
    const asks = [
      ask({ limit: 1 }),
      ask({ limit: 1, layer: 'project' }),
      ask({ limit: 1, name: 'x' }),
      ask({ limit: 1, subject: 'y' }),
    ]
    for (const one of asks) expect((await counters.take([one], NOON)).kind).toBe('taken')
    for (const one of asks) expect((await counters.take([one], NOON)).kind).toBe('refused')
  })

  test('§8.1 looking takes nothing, and is never refused', async () => {
    const counters = await make()
    const look = ask({ limit: 2, amount: 0 })
    expect(await counters.take([look], NOON)).toMatchObject({ readings: [{ left: 2, more_in_s: 0 }] })
    await counters.take([ask({ limit: 2 }), ask({ layer: 'project' })], NOON)
    await counters.take([ask({ limit: 2 })], NOON + 5_000)
    expect(await counters.take([look], NOON + 9_000)).toMatchObject({
      kind: 'taken',
      readings: [{ left: 0, more_in_s: 52 }],
    })
  })

  test('T-69 more than the whole limit is refused without a time, whatever the others would say', async () => {
    const counters = await make()
    await counters.take([ask({ limit: 1 })], NOON)
    const verdict = await counters.take([ask({ limit: 1 }), ask({ name: 't', limit: 5, amount: 6 })], NOON)
    expect(verdict).toMatchObject({ kind: 'refused', by: 1, wait_s: undefined })
  })

  test('§8.1 a shadow refuses nothing and takes nothing, and says that it would have refused', async () => {
    const counters = await make()
    const shadow = ask({ limit: 1, shadow: true })
    const beside = ask({ layer: 'project', limit: 10 })
    expect(await counters.take([shadow, beside], NOON)).toMatchObject({ kind: 'taken', exceeded: [] })
    expect(await counters.take([shadow, beside], NOON)).toMatchObject({ kind: 'taken', exceeded: [0] })
    expect(await counters.take([shadow, beside], NOON + 61_000)).toMatchObject({ kind: 'taken', exceeded: [] })
    expect(await leftOf(counters, beside, NOON + 61_000)).toBe(9)
  })

  test('F10 tokens are settled in the second of their taking: never too many, and exact in the end', async () => {
    const figures = await settleTokens(await make(), 10_000, 1_000_000)
    process.stdout.write(`F10: 10000 calls, ${JSON.stringify(figures)}\n`)
    expect(figures.admitted).toBeGreaterThan(1_000)
    expect(figures.admitted).toBeLessThan(10_000)
    expect(figures.peak).toBeLessThanOrEqual(1_000_000)
    expect(figures.drift).toBe(0)
  })

  test('§8.1 what used more than it said counts as what it used, and those behind it wait', async () => {
    const counters = await make()
    const tokens = (amount: number) => ask({ name: 'tokens_per_minute', limit: 100, amount })
    const { second } = await taken(counters.take([tokens(60)], NOON))
    await counters.correct([correctionOf(tokens(0), second, 90)])
    expect(await leftOf(counters, tokens(0))).toBe(0)
    expect(await counters.take([tokens(1)], NOON + 1_000)).toMatchObject({ kind: 'refused', wait_s: 60 })
    expect((await counters.take([tokens(100)], NOON + 61_000)).kind).toBe('taken')
  })

  test('§8.1 a correction for a second that has passed out of the minute changes nothing', async () => {
    const counters = await make()
    const tokens = (amount: number) => ask({ name: 'tokens_per_minute', limit: 100, amount })
    const { second } = await taken(counters.take([tokens(60)], NOON))
    await counters.take([tokens(50)], NOON + 61_000)
    await counters.correct([correctionOf(tokens(0), second, -60), correctionOf(tokens(0), second - 61, -60)])
    expect(await leftOf(counters, tokens(0), NOON + 61_000)).toBe(50)
    await counters.correct([correctionOf(ask({ subject: 'nobody' }), second, -1)])
  })

  test('F9 a place that nobody gave back is free when its lease has run out', async () => {
    expect(await placesLost(await make())).toBe(0)
  })

  test('§8.1 a lease that is renewed stays; one that ran out and is renewed after all is held again', async () => {
    const counters = await make()
    const one = streamAsk('one', 1)
    await counters.take([], NOON, [one])
    for (let at = 10_000; at <= 300_000; at += 10_000) {
      await counters.renew([one.lease], NOON + at)
      expect(await counters.take([], NOON + at + 9_999, [streamAsk('two', 1)])).toMatchObject({ kind: 'refused' })
    }
    expect((await counters.take([], NOON + 330_000, [streamAsk('two', 1)])).kind).toBe('taken')
    await counters.renew([one.lease], NOON + 331_000)
    await counters.release(streamAsk('two', 1).lease)
    expect((await counters.take([], NOON + 332_000, [streamAsk('three', 1)])).kind).toBe('refused')
  })

  test('§8.1 a lease may be given back twice, and those of another subject are not counted', async () => {
    const counters = await make()
    const other = { ...streamAsk('x', 1), lease: { subject: 'key_2', home: 'prj_1', id: 'x' } }
    await counters.take([], NOON, [other])
    expect((await counters.take([], NOON, [streamAsk('a', 1)])).kind).toBe('taken')
    await counters.release(streamAsk('a', 1).lease)
    await counters.release(streamAsk('a', 1).lease)
    expect((await counters.take([], NOON, [streamAsk('b', 1)])).kind).toBe('taken')
    expect(await counters.take([], NOON, [streamAsk('c', 1)])).toMatchObject({ kind: 'refused', by: 0, wait_s: 1 })
    expect(await counters.take([], NOON, [streamAsk('c', 1, true)])).toMatchObject({ kind: 'taken', exceeded: [0] })
  })

  test('§8.1.2 two leases are one decision: both, or neither, and each is told by its place', async () => {
    const counters = await make()
    const place = (id: string, limit: number, shadow = false): LeaseAsk => ({
      ...streamAsk(id, limit, shadow),
      lease: { subject: 'running key_1', home: 'prj_1', id },
    })
    const both = (id: string, streams: number, places: number) => [streamAsk(id, streams), place(id, places)]
    expect((await counters.take([ask()], NOON, both('a', 3, 1))).kind).toBe('taken')
    expect(await counters.take([ask()], NOON, both('b', 3, 1))).toMatchObject({ kind: 'refused', by: 2, wait_s: 1 })
    expect(await counters.take([ask()], NOON, both('b', 1, 3))).toMatchObject({ kind: 'refused', by: 1, wait_s: 1 })
    const spared = await counters.take([ask()], NOON, [streamAsk('c', 3), place('c', 1, true)])
    expect(spared).toMatchObject({ kind: 'taken', exceeded: [2] })
    expect(await leftOf(counters, ask())).toBe(8)
    // Of those that were refused, neither is held: there is room for exactly one stream, and for two places.
    expect((await counters.take([], NOON, [streamAsk('d', 3)])).kind).toBe('taken')
    expect((await counters.take([], NOON, [streamAsk('e', 3)])).kind).toBe('refused')
    for (const id of ['d', 'e']) expect((await counters.take([], NOON, [place(id, 3)])).kind).toBe('taken')
    expect((await counters.take([], NOON, [place('f', 3)])).kind).toBe('refused')
    await counters.release(place('a', 1).lease)
    expect((await counters.take([], NOON, [place('f', 3)])).kind).toBe('taken')
  })
}
