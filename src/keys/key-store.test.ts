// API keys at rest, on whichever engine this run is for.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { ENGINE, withDb } from '../../test/support/databases.ts'
import { plansOf } from '../../test/support/plans.ts'
import { mutateSql, type Tampering, tamperedDb } from '../../test/support/tampered-db.ts'
import { newTagBudget } from '../budgets/tag-budget.ts'
import { tagBudgetStore } from '../budgets/tag-budget-store.ts'
import { rfc3339 } from '../core/clock.ts'
import type { Scope } from '../core/scopes.ts'
import { foundProject } from '../start/bootstrap.ts'
import { sql } from '../storage/db.ts'
import { adoptKey, createKey, hashKey } from './key.ts'
import { HOLDER_COLUMNS, type KeyStore, keyStore, keysPresent, watchHolders } from './key-store.ts'

withDb((db) => {
  const store = () => keyStore(db())
  let projects = 0

  async function project(verified = true) {
    const founding = { name: 'p', owner_email: `k${++projects}@example.com`, verified }
    return foundProject(db(), founding, NOON)
  }

  async function key(project_id: string, now = NOON, scopes: Scope[] = ['inference', 'read']) {
    const minted = createKey(project_id, { name: 'ci', scopes }, now)
    await store().insert(minted, now)
    return minted
  }

  function planted(from: string | RegExp, to: string): KeyStore {
    const tampering: Tampering = {}
    mutateSql(tampering, from, to)
    return keyStore(tamperedDb(db(), tampering))
  }

  test('§2.1 a key comes back as it went in: no limit and no use yet means no field', async () => {
    const { project: home } = await project()
    const { api_key } = await key(home.id)
    expect(await store().find(home.id, api_key.id)).toEqual(api_key)
  })

  test('§2.1 the raw key is nowhere in the row; its SHA-256 is', async () => {
    const { project: home } = await project()
    const { api_key, raw, hash } = await key(home.id)
    const row = JSON.stringify(await db().rows(sql`SELECT * FROM api_key WHERE id = ${api_key.id}`))
    expect(row).toContain(hash)
    for (let at = 9; at + 16 <= raw.length; at++) expect(row).not.toContain(raw.slice(at, at + 16))
  })

  test('§5 the holder of a hash is its project, scopes and owner', async () => {
    const { project: home } = await project()
    const { api_key, hash } = await key(home.id)
    expect(await store().findHolder(hash, NOON)).toMatchObject({
      key_id: api_key.id,
      project_id: home.id,
      scopes: ['inference', 'read'],
      owner_verified: true,
    })
  })

  test('§5.6 the holder knows when the owner is not verified', async () => {
    const { key: admin } = await project(false)
    expect((await store().findHolder(admin.hash, NOON))?.owner_verified).toBe(false)
  })

  test('§5.4 every column that a caller is made of is watched, wherever the store tells of changes', async () => {
    let told = 0
    const { project: home } = await project()
    await tagBudgetStore(db()).insert(newTagBudget(home.id, { tag: 'team=search', limit_usd: 1 }, NOON), NOON)
    db().watch?.(HOLDER_COLUMNS, () => told++)
    const columns = Object.entries(HOLDER_COLUMNS).flatMap(([table, names]) => names.map((name) => ({ table, name })))
    expect(columns).toContainEqual({ table: 'project', name: 'routing_epoch' })
    for (const { table, name } of columns)
      await db().rows({ text: [`UPDATE ${table} SET ${name} = ${name}`], values: [] })
    expect(told).toBe(db().watch ? columns.length : 0)
  })

  test('R43 the holder knows whether any tag of its project has a budget, and is told of the first', async () => {
    let told = 0
    const { project: home } = await project()
    const { hash } = await key(home.id)
    const hasNone = async () => (await store().findHolder(hash, NOON))?.has_no_tag_budgets
    expect(await hasNone()).toBe(true)
    watchHolders(db())?.(() => told++)
    await tagBudgetStore(db()).insert(newTagBudget(home.id, { tag: 'team=search', limit_usd: 1 }, NOON), NOON)
    expect([await hasNone(), told]).toEqual([undefined, db().watch ? 1 : 0])
  })

  test('R60, R61 the holder knows until when the key, and a secret that was replaced, works', async () => {
    const { project: home } = await project()
    const { api_key, hash } = await key(home.id)
    const until = async (one: string) => (await store().findHolder(one, NOON))?.works_until
    expect(await until(hash)).toBeUndefined()
    const secret = { raw: '', hash: 'another', masked: 'svc_live_…', previous_expires_at: NOON + 1_000 }
    await store().rotate(home.id, api_key.id, secret, NOON)
    expect([await until(hash), await until('another')]).toEqual([NOON + 1_000, undefined])
    await db().rows(sql`UPDATE api_key SET expires_at = ${NOON + 10} WHERE id = ${api_key.id}`)
    expect([await until(hash), await until('another')]).toEqual([NOON + 10, NOON + 10])
  })

  async function revocationFaults(on: KeyStore): Promise<string[]> {
    const { project: home } = await project()
    const { api_key, hash } = await key(home.id)
    const faults: string[] = []
    if (!(await on.revoke(home.id, api_key.id))) faults.push('not found')
    if (await on.findHolder(hash, NOON)) faults.push('still works')
    const [row] = await db().rows<{ hash: string | null }>(sql`SELECT hash FROM api_key WHERE id = ${api_key.id}`)
    if (row?.hash) faults.push('hash left behind')
    if (!(await on.revoke(home.id, api_key.id))) faults.push('unknown the second time')
    if ((await on.list(home.id)).find(({ id }) => id === api_key.id)?.status !== 'revoked') faults.push('not listed')
    return faults
  }

  test('R7 revoking stops the key, drops its hash, keeps it listed, and may be repeated', async () => {
    expect(await revocationFaults(store())).toEqual([])
  })

  test.each<[string, string | RegExp, string, string[]]>([
    ['that leaves the hash', ', hash = NULL', '', ['hash left behind']],
    ['that only hides it', /, hash = NULL| AND k.status = 'active'/, '', ['still works', 'hash left behind']],
    [
      'that deletes',
      /UPDATE api_key SET status = 'revoked'.* hash = NULL/,
      'DELETE FROM api_key',
      ['unknown the second time', 'not listed'],
    ],
  ])('R7 planted: a revocation %s is caught', async (_case, from, to, faults) => {
    expect(await revocationFaults(planted(from, to))).toEqual(faults)
  })

  test('R11 newest first, ties by insertion', async () => {
    const { project: home, key: admin } = await project()
    const made = [admin.api_key.id]
    for (let n = 0; n < 50; n++) made.push((await key(home.id)).api_key.id)
    expect((await store().list(home.id)).map(({ id }) => id)).toEqual(made.reverse())
  })

  test('R6 a budget is set, set to zero, cleared; a revoked key takes one too', async () => {
    const { project: home } = await project()
    const { api_key } = await key(home.id)
    expect(await store().setBudget(home.id, api_key.id, 9_007_199_254_000_000)).toEqual({
      ...api_key,
      budget_micros: 9_007_199_254_000_000,
    })
    expect(await store().setBudget(home.id, api_key.id, 0)).toEqual({ ...api_key, budget_micros: 0 })
    await store().revoke(home.id, api_key.id)
    expect(await store().setBudget(home.id, api_key.id, null)).toEqual({ ...api_key, status: 'revoked' })
  })

  async function reachOfAStranger(on: KeyStore): Promise<string[]> {
    const { project: home } = await project()
    const { api_key, hash } = await key(home.id)
    const stranger = (await project()).project.id
    const done: string[] = []
    if (await on.find(stranger, api_key.id)) done.push('find')
    if ((await on.list(stranger)).some(({ id }) => id === api_key.id)) done.push('list')
    if (await on.setBudget(stranger, api_key.id, 5)) done.push('budget')
    if (await on.revoke(stranger, api_key.id)) done.push('revoke')
    if (done.length === 0 && !(await store().findHolder(hash, NOON))) done.push('touched')
    return done
  }

  test('§5.8 another project’s key is out of reach', async () => {
    expect(await reachOfAStranger(store())).toEqual([])
  })

  test('§5.8 planted: statements that do not name the project are caught', async () => {
    const open = planted(/WHERE project_id = $/, "WHERE '' <> ")
    expect(await reachOfAStranger(open)).toEqual(['find', 'list', 'budget', 'revoke'])
  })

  test('R5 the operator’s keys are told from minted ones, until they are revoked', async () => {
    const { project: home } = await project()
    const chosen = adoptKey(home.id, `svc_live_${'x'.repeat(32)}`, NOON)
    await store().insert(chosen, NOON)
    const { hash } = await key(home.id)
    expect((await store().operatorHashes()).has(hashKey(chosen.raw))).toBe(true)
    expect((await store().operatorHashes()).has(hash)).toBe(false)
    await store().revoke(home.id, chosen.api_key.id)
    expect((await store().operatorHashes()).has(hashKey(chosen.raw))).toBe(false)
  })

  test('§2.1 last_used_at is written, and never moves back', async () => {
    const { project: home } = await project()
    const { api_key } = await key(home.id)
    const record = (now: number) => store().recordUses([{ key_id: api_key.id, at: rfc3339(now) }])
    await record(NOON + 5_000)
    await record(NOON + 1_000)
    expect((await store().find(home.id, api_key.id))?.last_used_at).toBe(rfc3339(NOON + 5_000))
  })

  test.each<[string, boolean, (other: string) => Promise<unknown>]>([
    ['one that lasts', true, async () => {}],
    ['one that ends later', true, (id) => db().rows(sql`UPDATE api_key SET expires_at = ${NOON + 1} WHERE id = ${id}`)],
    ['one that has ended', false, (id) => db().rows(sql`UPDATE api_key SET expires_at = ${NOON} WHERE id = ${id}`)],
    ['one that is revoked', false, (id) => db().rows(sql`UPDATE api_key SET status = 'revoked' WHERE id = ${id}`)],
    ['one that only reads', false, (id) => db().rows(sql`UPDATE api_key SET scopes = 'read' WHERE id = ${id}`)],
  ])('R74, R70 beside an admin key, %s', async (_case, works, change) => {
    const { project: home, key: admin } = await project()
    const { api_key: other } = await key(home.id, NOON, ['read', 'admin'])
    await change(other.id)
    expect(await store().hasOtherAdmin(home.id, admin.api_key.id, NOON)).toBe(works)
    const [counted] = await db().rows<{ present: number }>(keysPresent(home.id, NOON))
    expect(Number(counted?.present)).toBe(works || _case === 'one that only reads' ? 2 : 1)
  })

  test('R61 secrets whose overlap is over are forgotten two hundred at a time, until none is left', async () => {
    const { project: home } = await project()
    const ids: string[] = []
    await db().transaction(async (tx) => {
      for (let n = 0; n < 202; n++) {
        const minted = createKey(home.id, { name: 'ci', scopes: ['read'] }, NOON)
        ids.push((await keyStore(tx).insert(minted, NOON)).api_key.id)
        await tx.rows(sql`
          UPDATE api_key SET previous_hash = ${`before ${minted.hash}`}, previous_expires_at = ${NOON + n}
          WHERE id = ${minted.api_key.id}`)
      }
    })
    const more: boolean[] = []
    do more.push(await store().forgetPrevious(NOON + 200))
    while (more.at(-1))
    expect(more).toEqual([true, false])
    const left = await db().rows<{ id: string }>(sql`SELECT id FROM api_key WHERE previous_hash LIKE 'before %'`)
    expect(left.map(({ id }) => id)).toEqual(ids.slice(201))
  })

  test.runIf(ENGINE === 'sqlite')('R70, R74, R61 what is asked of all keys is answered by indexes alone', async () => {
    expect(await plansOf(db(), (on) => on.rows(keysPresent('prj_1', NOON)))).toEqual([
      expect.stringContaining('USING COVERING INDEX api_key_working (project_id=? AND expires_at=?'),
      expect.stringContaining('USING COVERING INDEX api_key_working (project_id=? AND expires_at>?'),
    ])
    expect(await plansOf(db(), (on) => keyStore(on).hasOtherAdmin('prj_1', 'key_1', NOON))).toEqual([
      expect.stringContaining('USING COVERING INDEX api_key_admins (project_id=? AND expires_at=?'),
      expect.stringContaining('USING COVERING INDEX api_key_admins (project_id=? AND expires_at>?'),
    ])
    expect(await plansOf(db(), (on) => keyStore(on).forgetPrevious(NOON))).toContainEqual(
      expect.stringContaining('USING INDEX api_key_by_previous_expiry (previous_expires_at<?)'),
    )
  })
})
