// R64, R65 under random races: parents and children that hold, settle, give back, are made, expire and are revoked, all
// at once. After every wave the books balance, and no limit is passed; in the end, nothing is held.
import { randomInt } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Hold } from '../../src/budgets/budget.ts'
import { budgetStore } from '../../src/budgets/budget-store.ts'
import { carveStore } from '../../src/budgets/carve-store.ts'
import { DAY_MS, HOUR_MS, SECOND_MS } from '../../src/core/clock.ts'
import type { ApiKey } from '../../src/keys/key.ts'
import { keyStore } from '../../src/keys/key-store.ts'
import type { Db, OpenDb } from '../../src/storage/db.ts'
import { NOON } from '../support/clock.ts'
import { ENGINE, withDb } from '../support/databases.ts'
import { childOf, familyBooks, parentIn, spenderOf } from '../support/families.ts'
import { sized } from '../support/sizes.ts'
import { mutateSql, type Tampering, tamperedDb } from '../support/tampered-db.ts'

const seed = Number(process.env.SIM_SEED ?? randomInt(2 ** 31 - 1))
const runs = Number(process.env.SIM_RUNS ?? sized(ENGINE === 'sqlite' ? 40 : 6, 5))

const deeds = fc.oneof(
  fc.record({ kind: fc.constant('hold' as const), who: fc.nat(9), micros: fc.integer({ min: 0, max: 400 }) }),
  fc.record({ kind: fc.constant('settle' as const), which: fc.nat(9), cost: fc.integer({ min: 0, max: 450 }) }),
  fc.record({ kind: fc.constant('release' as const), which: fc.nat(9) }),
  fc.record({ kind: fc.constant('mint' as const), micros: fc.integer({ min: 0, max: 800 }), ttl: fc.nat(3) }),
  fc.record({ kind: fc.constant('revoke' as const), who: fc.nat(9) }),
  fc.record({ kind: fc.constant('sweep' as const) }),
)
type Deed = typeof deeds extends fc.Arbitrary<infer One> ? One : never

const histories = fc.record({
  waves: fc.array(fc.array(deeds, { minLength: 1, maxLength: 6 }), { minLength: 2, maxLength: 8 }),
  budget: fc.constantFrom(undefined, 700, 2_000),
  cap: fc.constantFrom(undefined, 1_000, 3_000),
  window: fc.constantFrom(undefined, 900),
})
type History = typeof histories extends fc.Arbitrary<infer One> ? One : never

/** What is wrong, in the order in which it was found. */
async function play(db: OpenDb, on: Db, { waves, budget, cap, window }: History): Promise<string[]> {
  const limits = { ...(budget !== undefined && { budget }), ...(cap !== undefined && { cap }) }
  const parent = await parentIn(db, limits)
  const { project_id } = parent
  if (window !== undefined)
    await keyStore(on).setWindow(project_id, parent.id, { period: 'day', limit_micros: window }, NOON)
  const budgets = budgetStore(on, 'one')
  const [keys, holds, wrong]: [ApiKey[], { hold: Hold; key: ApiKey }[], string[]] = [[parent], [], []]
  const paid: { at: number; micros: number }[] = []
  let now = NOON

  async function act(deed: Deed): Promise<void> {
    if (deed.kind === 'sweep') await carveStore(on).returnDue(now)
    if (deed.kind === 'mint') {
      const child = await childOf(on, parent, deed.micros, { now, ttl_seconds: deed.ttl + 1 })
      if (child) keys.push(child)
    }
    if (deed.kind === 'hold') {
      const key = keys[deed.who % keys.length] as ApiKey
      const outcome = await budgets.hold(spenderOf(key), deed.micros, now)
      if (outcome.kind === 'held') holds.push({ hold: outcome.hold, key })
    }
    if (deed.kind === 'revoke') {
      const child = keys[deed.who % keys.length] as ApiKey
      if (child !== parent) await carveStore(on).revokeFamily(project_id, child.id, now)
    }
    if (deed.kind === 'settle' || deed.kind === 'release') await resolve(deed)
  }

  async function resolve(deed: Extract<Deed, { kind: 'settle' | 'release' }>): Promise<void> {
    const one = holds[deed.which % Math.max(1, holds.length)] // the same one twice, sometimes: only the first counts
    if (!one) return
    if (deed.kind === 'release') return budgets.release(one.hold)
    const settle = (tx: Db) => budgetStore(tx, 'one').settle(spenderOf(one.key), one.hold, deed.cost, now)
    paid.push({ at: now, micros: (await on.transaction(settle)).charged_micros })
  }

  async function check(): Promise<void> {
    wrong.push(...(await familyBooks(db, project_id)).wrong)
    const shown = (await keyStore(db).find(project_id, parent.id))?.window
    if (!shown || Date.parse(shown.resets_at) <= now) return
    const { held_micros } = (await familyBooks(db, project_id)).of(parent.id)
    if (shown.spent_micros + held_micros > shown.limit_micros) wrong.push('the window is passed')
    const today = paid.filter(({ at }) => at >= Date.parse(shown.resets_at) - DAY_MS)
    if (shown.spent_micros !== today.reduce((sum, { micros }) => sum + micros, 0)) wrong.push('the window lost count')
  }

  for (const wave of waves) {
    await Promise.all(wave.map(act))
    await check()
    now += wave.length % 3 === 0 ? 6 * HOUR_MS : SECOND_MS
  }
  for (const { hold } of holds) await budgets.release(hold)
  await carveStore(on).returnDue(now + HOUR_MS)
  await check()
  const { project } = await familyBooks(db, project_id)
  if (project.held_micros !== 0) wrong.push(`${project.held_micros} held in the end`)
  return wrong
}

withDb((db) => {
  test('R64, R65 whatever races, the books balance and no limit is passed', async () => {
    process.stdout.write(`families: ${runs} histories on ${ENGINE}, SIM_SEED=${seed}\n`)
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        expect(await play(db(), db(), history)).toEqual([])
      }),
      { seed, numRuns: runs },
    )
  })

  // What the books can notice does not depend on the engine.
  if (ENGINE === 'sqlite')
    test.each<[string, string | RegExp, string, RegExp]>([
      ['a carve-out without a limit', 'AND (budget_micros IS NULL OR', 'AND (1 = 1 OR', /open_children \+ 1/],
      ['a window that children do not count in', 'THEN window_spent_micros + ', 'THEN 0 * ', /window_ends_at = CASE/],
      ['a rest that comes back twice', /AND returned_at IS NULL\s+RETURNING/, 'RETURNING', /SET returned_at/],
      ['a rest with what is held in it', 'budget_micros - spent_micros - held_micros AS', 'budget_micros AS', /rest/],
      ['a child that holds after its end', 'returned_at IS NULL AND expires_at > ', '0 < ', /UPDATE api_key SET held/],
    ])('R64 planted: %s is noticed', async (_bug, from, to, within) => {
      const tampering: Tampering = {}
      mutateSql(tampering, from, to, within)
      const broken = tamperedDb(db(), tampering)
      const property = fc.asyncProperty(histories, async (history) => {
        expect(await play(db(), broken, history)).toEqual([])
      })
      const { failed } = await fc.check(property, { seed: 7, numRuns: 500, endOnFailure: true })
      expect(failed).toBe(true)
    })
})
