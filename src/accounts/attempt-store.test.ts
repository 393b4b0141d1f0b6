// §8: attempts take slots. On whichever engine this run is for.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { freshDb, withDb } from '../../test/support/databases.ts'
import { mutateSql, type Tampering, tamperedDb } from '../../test/support/tampered-db.ts'
import { HOUR_MS, MINUTE_MS } from '../core/clock.ts'
import { type Db, sql } from '../storage/db.ts'
import { attemptStore, type Slot } from './attempt-store.ts'
import { FAILED_LOGINS, SIGN_UPS_AND_RESETS, tooMany } from './attempts.ts'

let addresses = 0
const newcomer = () => `192.0.2.${++addresses}`

/** Many at once, in waves: how many of each wave were let through. */
async function admitted(db: Db, waves: readonly number[]): Promise<number[]> {
  const [who, store] = [newcomer(), attemptStore(db)]
  const counts: number[] = []
  for (const now of waves) {
    const slots = await Promise.all(Array.from({ length: 60 }, () => store.take(FAILED_LOGINS, who, now)))
    counts.push(slots.filter((slot) => slot !== undefined).length)
  }
  return counts
}
const WAVES = [NOON, NOON + MINUTE_MS, NOON + 10 * MINUTE_MS - 1, NOON + 10 * MINUTE_MS]

withDb((db) => {
  const store = () => attemptStore(db())

  test('§8 of any number at once exactly five are let through; the next five when those have lapsed', async () => {
    expect(await admitted(db(), WAVES)).toEqual([5, 0, 0, 5])
  })

  test('§8 planted: a slot that is taken though it is taken, and one that never lapses, are caught', async () => {
    const tampering: Tampering = {}
    const broken = tamperedDb(db(), tampering)
    mutateSql(tampering, 'WHERE attempt_slot.expires_at <=', 'WHERE attempt_slot.expires_at >')
    expect(await admitted(broken, WAVES)).not.toEqual([5, 0, 0, 5])
    mutateSql(tampering, 'AND expires_at >', 'AND expires_at + 3600000 >')
    expect(await admitted(broken, WAVES)).toEqual([5, 0, 0, 0])
  })

  test('T-70 what is given back can be taken again, once, and by nobody who came too late', async () => {
    const who = newcomer()
    const take = (now: number) => store().take(FAILED_LOGINS, who, now)
    const slots: (Slot | undefined)[] = []
    for (let n = 0; n < 5; n++) slots.push(await take(NOON + n))
    expect(await take(NOON + 5)).toBeUndefined()
    const first = slots[0] as Slot
    await store().giveBack(first)
    await store().giveBack(first)
    const successor = await take(NOON + 6)
    expect(successor?.slot).toBe(first.slot)
    await store().giveBack(first) // its own slot is somebody else's by now
    expect(await take(NOON + 7)).toBeUndefined()
  })

  test('§8 two kinds of attempt, and two addresses, do not take from each other', async () => {
    const [one, other] = [newcomer(), newcomer()]
    for (let n = 0; n < 5; n++) expect(await store().take(FAILED_LOGINS, one, NOON)).toBeDefined()
    expect(await store().take(FAILED_LOGINS, one, NOON)).toBeUndefined()
    expect(await store().take(FAILED_LOGINS, other, NOON)).toBeDefined()
    for (let n = 0; n < 3; n++) expect(await store().take(SIGN_UPS_AND_RESETS, one, NOON)).toBeDefined()
    expect(await store().take(SIGN_UPS_AND_RESETS, one, NOON)).toBeUndefined()
  })

  test('R49 who waits as long as told is let through, and a second earlier is not', async () => {
    const who = newcomer()
    for (let n = 0; n < 3; n++) await store().take(SIGN_UPS_AND_RESETS, who, NOON + n * 1_234)
    const now = NOON + 10_000
    const refusal = await store()
      .takeOrRefuse(SIGN_UPS_AND_RESETS, who, now)
      .catch((error) => error)
    const wait_ms = Number(refusal.headers['retry-after']) * 1_000
    expect([refusal.status, wait_ms]).toEqual([429, HOUR_MS - 10_000])
    expect(await store().take(SIGN_UPS_AND_RESETS, who, now + wait_ms - 1_000)).toBeUndefined()
    expect(await store().take(SIGN_UPS_AND_RESETS, who, now + wait_ms)).toBeDefined()
  })

  test('§8 what has lapsed is swept, what has not stays', async () => {
    const rows = async () => (await db().rows(sql`SELECT slot FROM attempt_slot`)).length
    await store().take(FAILED_LOGINS, newcomer(), NOON + 3 * HOUR_MS)
    while (await store().sweep(NOON + 3 * HOUR_MS));
    expect(await rows()).toBe(1)
  })
})

test('R49 the wait is in whole seconds, rounded up, and never nothing', () => {
  const wait = (free_in_ms: number) => tooMany(FAILED_LOGINS, NOON + free_in_ms, NOON).headers['retry-after']
  expect([1, 999, 1_000, 1_001, 0, -5].map(wait)).toEqual(['1', '1', '1', '2', '1', '1'])
})

test('R50 a store that does not answer lets nobody through', async () => {
  const { db, drop } = await freshDb()
  const away = tamperedDb(db, { rows: () => Promise.reject(new Error('away')) })
  await expect(attemptStore(away).take(FAILED_LOGINS, newcomer(), NOON)).rejects.toThrow('away')
  await drop()
})
