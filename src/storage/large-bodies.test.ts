// R77: large bodies in parts of their own rows: they come back as they were, belong to a row or are swept, and go with
// the row that has them.
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { MINUTE_MS } from '../core/clock.ts'
import { randomBase62 } from '../core/ids.ts'
import { sealing } from '../core/sealing.ts'
import { holder, idempotencyStore } from '../idempotency/idempotency-store.ts'
import { sql } from './db.ts'
import { largeBodies, PART_BYTES, PartsGone, removeLooseParts, removeParts, sweepLooseParts } from './large-bodies.ts'

const SEALS = sealing('a secret for tests, 32 characters or more')
const DAY_MS = 24 * 60 * MINUTE_MS

withDb((db) => {
  const bodies = () => largeBodies(db(), SEALS)
  const fresh = () => ({ digest: randomBase62(20), project_id: `prj_${randomBase62(8)}`, key: 'the client’s own' })

  async function partsOf(project_id: string): Promise<number> {
    const [row] = await db().rows<{ parts: number }>(sql`
      SELECT COUNT(*) AS parts FROM large_body_part WHERE project_id = ${project_id}`)
    return Number(row?.parts)
  }

  /** An answer of 600,000 bytes that is kept, and its request. */
  async function kept() {
    const request = fresh()
    const store = idempotencyStore(db(), SEALS, holder('one'))
    const taken = await store.reserve(request, NOON)
    if (taken.kind !== 'taken') throw new Error(taken.kind)
    const body = randomBytes(600_000)
    const large = await bodies().write(request.project_id, request.key, body.subarray(0, 599_990), NOON)
    const keep = () =>
      db().transaction((tx) =>
        idempotencyStore(tx, SEALS, holder('one')).keep(
          taken.reservation,
          { status: 200, headers: {}, body },
          NOON,
          large,
        ),
      )
    return { request, store, body, keep }
  }

  test.each([1, PART_BYTES, PART_BYTES + 1, 3 * PART_BYTES + 17])(
    'R77 %i bytes come back as they were',
    async (size) => {
      const { project_id, key } = fresh()
      const plain = randomBytes(size)
      const large = await bodies().write(project_id, key, plain, NOON)
      expect((await bodies().read(large, key))?.equals(plain)).toBe(true)
      await expect(bodies().read(large, 'another key')).rejects.toThrow()
      await removeParts(db(), [large])
      expect(await bodies().read(large, key)).toBeUndefined()
    },
  )

  test('R77 what nobody came for is swept after ten minutes; what a row has stays', async () => {
    const { project_id, key } = fresh()
    const [lost, had] = [await bodies().write(project_id, key, randomBytes(600_000), NOON), await kept()]
    expect(await had.keep()).toBe(true)
    await sweepLooseParts(db(), NOON + 9 * MINUTE_MS)
    expect(await partsOf(project_id)).toBe(3)
    await sweepLooseParts(db(), NOON + 11 * MINUTE_MS)
    expect([await partsOf(project_id), await partsOf(had.request.project_id)]).toEqual([0, 3])
    await expect(bodies().settle(lost)).rejects.toThrow(PartsGone)
    const found = await had.store.find(had.request, NOON)
    expect(found.kind === 'kept' && found.response.body.equals(had.body)).toBe(true)
  })

  test('§11.7 after its day a large answer goes with its parts, and the next request takes its place', async () => {
    const [one, two] = [await kept(), await kept()]
    for (const { keep } of [one, two]) expect(await keep()).toBe(true)
    const later = NOON + DAY_MS
    expect((await one.store.reserve(one.request, later)).kind).toBe('taken')
    expect(await partsOf(one.request.project_id)).toBe(0)
    while (await two.store.sweep(later));
    expect([await two.store.find(two.request, NOON), await partsOf(two.request.project_id)]).toEqual([
      { kind: 'free' },
      0,
    ])
  })

  test('§11.7 the same for an answer that is kept with its effect', async () => {
    const { request, store, keep } = await kept()
    await keep()
    const small = { status: 200, headers: {}, body: Buffer.from('small') }
    expect(await store.keepAtOnce(request, small, NOON)).toBe(false)
    expect(await store.keepAtOnce(request, small, NOON + DAY_MS)).toBe(true)
    expect([await partsOf(request.project_id), (await store.find(request, NOON + DAY_MS)).kind]).toEqual([0, 'kept'])
  })

  test('R21 a transaction that fails leaves parts that nobody has', async () => {
    const { request, keep } = await kept()
    await db().rows(sql`DELETE FROM idempotency WHERE digest = ${request.digest}`)
    expect(await keep()).toBe(false)
    expect(await partsOf(request.project_id)).toBe(3)
    await db().transaction((tx) => removeLooseParts(tx, request.project_id))
    expect(await partsOf(request.project_id)).toBe(0)
  })
})
