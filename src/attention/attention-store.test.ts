// What attention reads, on whichever engine this run is for.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { type Tampering, tamperedDb, textOf } from '../../test/support/tampered-db.ts'
import { USD_MAX } from '../core/money.ts'
import { createKey } from '../keys/key.ts'
import { keyStore } from '../keys/key-store.ts'
import { type Sql, sql } from '../storage/db.ts'
import { attentionStore } from './attention-store.ts'

withDb((db) => {
  test('R77 a project may have 100,000 keys: they are looked through aside', async () => {
    const asked: Sql[] = []
    const tampering: Tampering = {
      rows(statement, run) {
        asked.push(statement)
        return run(statement)
      },
    }
    await attentionStore(tamperedDb(db(), tampering)).factsOf(await projectIn(db()), NOON)
    const ofKeys = asked.filter((statement) => textOf(statement).includes('FROM api_key'))
    expect(ofKeys.map(({ once }) => once)).toEqual([true])
  })

  interface Key {
    budget: number
    spent?: number
    held?: number
    parent_id?: string
    expires_at?: number
  }

  async function keyOf(project_id: string, { budget, spent = 0, held = 0, parent_id, expires_at }: Key) {
    const { id } = (await keyStore(db()).insert(createKey(project_id, { name: 'k' }, NOON), NOON)).api_key
    await db().rows(sql`
      UPDATE api_key SET budget_micros = ${budget}, spent_micros = ${spent}, held_micros = ${held},
                         parent_id = ${parent_id ?? null}, expires_at = ${expires_at ?? null}
      WHERE id = ${id}`)
    return id
  }
  const told = async (project_id: string, now = NOON) =>
    (await attentionStore(db()).factsOf(project_id, now))?.keys.map(({ id }) => id)

  test('§4.4 of keys near their limit, those that have ended and children, which end by themselves, are not told of', async () => {
    const project_id = await projectIn(db())
    const near = { budget: 1_000, spent: 500, held: 400 }
    const id = await keyOf(project_id, { ...near, expires_at: NOON + 1 })
    await keyOf(project_id, { ...near, expires_at: NOON })
    for (const expires_at of [NOON, NOON + 1_000]) await keyOf(project_id, { ...near, parent_id: id, expires_at })
    expect(await told(project_id)).toEqual([id])
    expect(await told(project_id, NOON + 1)).toEqual([])
  })

  test('§4.4 the nearest to its limit by its share comes first; a hundred small ones that are unspent hide none', async () => {
    const project_id = await projectIn(db())
    const [large, small] = [
      await keyOf(project_id, { budget: 1_000_000, spent: 990_000 }),
      await keyOf(project_id, { budget: 10, spent: 9 }),
    ]
    for (let n = 1; n <= 100; n++) await keyOf(project_id, { budget: n < 100 ? n : 99 })
    expect(await told(project_id)).toEqual([large, small])
  })

  test.each([
    [1, 1],
    [4, 4], // 3.2
    [7, 6], // 5.6
    [99, 80], // 79.2
    [100, 80],
    [101, 81], // 80.8
    [USD_MAX * 1e6, 7_205_759_403_200_000],
  ])('§4.4 to the micro: of %d it is %d on that a key is near its limit', async (budget, first) => {
    const project_id = await projectIn(db())
    await keyOf(project_id, { budget, spent: first - 1 })
    const id = await keyOf(project_id, { budget, held: first })
    expect(await told(project_id)).toEqual([id])
  })
})
