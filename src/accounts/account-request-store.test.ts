// T-100: what becomes of sign-ups and resets, on whichever engine this run is for.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { type Tampering, tamperedDb, textOf } from '../../test/support/tampered-db.ts'
import { HOUR_MS } from '../core/clock.ts'
import { type Db, sql } from '../storage/db.ts'
import { type AccountNeeds, accountRequestStore, type NewAccountRequest } from './account-request-store.ts'
import type { Letter } from './letters.ts'

withDb((db) => {
  /** The store as one process has it, and the letters that its transactions posted and committed. */
  function desk(on: Db = db()) {
    const letters: Letter[] = []
    const needs: AccountNeeds = {
      post: async (_tx, letter) => void letters.push(letter),
      note: async () => {},
      publicUrl: () => 'http://localhost',
    }
    return { ...accountRequestStore(on, needs), letters }
  }
  const asked = (kind: NewAccountRequest['kind'], email: string): NewAccountRequest => ({
    kind,
    email,
    ...(kind === 'sign_up' && { password_hash: `hash of ${email}` }),
    request_id: 'req_x',
  })
  const peopleLike = (email: string) => db().rows(sql`SELECT id FROM person WHERE email = ${email}`)
  const waiting = async () => (await db().rows(sql`SELECT id FROM account_request`)).length

  test('T-100 two processes at once: each request is looked into once, and an address has one person', async () => {
    const [one, two] = [desk(), desk()]
    for (let n = 0; n < 4; n++) await one.insert(asked('sign_up', 'ada@example.com'), NOON)
    await one.insert(asked('sign_up', 'bob@example.com'), NOON)
    await Promise.all([one.resolveAll(NOON), two.resolveAll(NOON), one.resolveAll(NOON)])
    expect(await peopleLike('ada@example.com')).toHaveLength(1)
    const letters = [...one.letters, ...two.letters].map(({ to }) => to).sort()
    expect(letters).toEqual([...Array(4).fill('ada@example.com'), 'bob@example.com'])
    expect(await waiting()).toBe(0)
    const projects = await db().rows(sql`
      SELECT p.id FROM project p JOIN person o ON o.id = p.owner_id JOIN membership m ON m.project_id = p.id
      WHERE o.email = 'ada@example.com' AND m.person_id = o.id AND m.role = 'owner'`)
    expect(projects).toHaveLength(1)
  })

  test('T-100 one that fails leaves nothing, keeps nobody waiting, and is tried again', async () => {
    const tampering: Tampering = {}
    const { insert, resolveAll } = desk(tamperedDb(db(), tampering))
    await insert(asked('sign_up', 'poison@example.com'), NOON)
    await insert(asked('sign_up', 'carol@example.com'), NOON)
    tampering.rows = (statement, run) =>
      textOf(statement).startsWith('INSERT INTO person') && statement.values.includes('poison@example.com')
        ? Promise.reject(new Error('planted'))
        : run(statement)
    await expect(resolveAll(NOON)).rejects.toThrow('planted')
    expect([await waiting(), (await peopleLike('carol@example.com')).length]).toEqual([1, 1])
    tampering.rows = undefined
    await resolveAll(NOON + 1)
    expect([await waiting(), (await peopleLike('poison@example.com')).length]).toEqual([0, 1])
  })

  test('T-100 a login looks into the sign-ups of its own address, and into nothing else', async () => {
    const { insert, resolveSignUps, letters, sweep } = desk()
    await insert(asked('sign_up', 'dan@example.com'), NOON)
    await insert(asked('reset', 'dan@example.com'), NOON)
    await insert(asked('sign_up', 'eve@example.com'), NOON)
    await resolveSignUps('dan@example.com', NOON)
    expect([letters.map(({ to }) => to), await waiting()]).toEqual([['dan@example.com'], 2])
    await sweep(NOON + 24 * HOUR_MS)
    expect(await waiting()).toBe(0)
  })
})
