// The first start founds one project with one admin key, however many processes start at once; later ones nothing.
import { expect, test } from 'vitest'
import { NOON } from '../test/support/clock.ts'
import { withDb } from '../test/support/databases.ts'
import { foundFirstProject } from './bootstrap.ts'
import { keyStore } from './keys/key-store.ts'
import { sql } from './storage/db.ts'

withDb((db) => {
  test('§start of ten starts at once, exactly one founds the project and its key', async () => {
    const raw = `svc_live_${'b'.repeat(32)}`
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => foundFirstProject(db(), NOON, raw)))
    const founded = outcomes.filter((outcome) => typeof outcome === 'object')
    expect(founded).toHaveLength(1)
    expect(founded[0]?.key.raw).toBe(raw)
    const holder = await keyStore(db()).findHolder(founded[0]?.key.hash ?? '', NOON)
    expect(holder).toMatchObject({ scopes: ['admin'], owner_verified: true })
  })

  test('§start a later start makes nothing, also with another key', async () => {
    const before = await db().rows(sql`SELECT id FROM api_key`)
    expect(await foundFirstProject(db(), NOON + 1)).toBe('exists')
    expect(await foundFirstProject(db(), NOON + 1, `svc_live_${'c'.repeat(32)}`)).toBe('exists')
    expect(await db().rows(sql`SELECT id FROM api_key`)).toEqual(before)
  })
})
