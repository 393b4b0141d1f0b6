// The first start founds one project with one admin key, however many processes start at once; later ones nothing. And
// how the first person gets into that project.
import { describe, expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { OWNER_LINK_LIFE_MS } from '../accounts/owner-link.ts'
import { ownerLinkStore } from '../accounts/owner-link-store.ts'
import { keyStore } from '../keys/key-store.ts'
import { sql } from '../storage/db.ts'
import { foundFirstProject, ownerAccess } from './bootstrap.ts'

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

withDb((db) => {
  const later = (now: number, shows_secrets = true) => ownerAccess(db(), { founded: undefined, shows_secrets }, now)

  describe('0160 the owner link', () => {
    test('§start the start that founded shows it, no other does while it works, and it outlives restarts', async () => {
      const founded = await foundFirstProject(db(), NOON)
      if (typeof founded !== 'object') throw new Error(founded)
      const access = await ownerAccess(db(), { founded, shows_secrets: true }, NOON)
      expect(access).toEqual({ kind: 'link', link: founded.owner_link })
      const others = await Promise.all(Array.from({ length: 5 }, () => later(NOON + 1)))
      expect(others).toEqual(Array(5).fill({ kind: 'on_request' }))
      expect(await ownerLinkStore(db()).isGood(founded.owner_link.secret, NOON + OWNER_LINK_LIFE_MS - 1)).toBe(true)
    })

    test('§start where it has lapsed, one of many starts mints another; one that shows no secrets never does', async () => {
      const now = NOON + OWNER_LINK_LIFE_MS
      expect(await later(now, false)).toEqual({ kind: 'on_request' })
      const starts = await Promise.all(Array.from({ length: 5 }, () => later(now)))
      expect(starts.map(({ kind }) => kind).sort()).toEqual(['link', ...Array(4).fill('on_request')])
    })

    test('§start once somebody owns the project and can sign in, there is none', async () => {
      const now = NOON + 3 * OWNER_LINK_LIFE_MS
      await db().rows(sql`UPDATE person SET password_hash = 'x'`)
      expect(await later(now)).toEqual({ kind: 'owned' })
      await db().rows(sql`UPDATE person SET password_hash = NULL`)
      expect((await later(now)).kind).toBe('link')
    })
  })
})
