// What an operator does to somebody's account by hand.
import { expect, test } from 'vitest'
import { newSettings } from '../../test/support/settings.ts'
import { secondFactorStore } from '../accounts/second-factor-store.ts'
import { systemClock } from '../core/clock.ts'
import { sealing } from '../core/sealing.ts'
import { openStore } from '../start/open-store.ts'
import { sql } from '../storage/db.ts'
import { createProject } from './operate.ts'
import { removeFactorOf } from './operate-accounts.ts'

test('§5.9 a second factor is removed for who has lost it, on record in their project; nobody else’s is', async () => {
  const config = await newSettings()
  const ada = await createProject(config, { name: 'home', owner_email: 'ada@example.com', verified: true })
  const eve = await createProject(config, { name: 'other', owner_email: 'eve@example.com', verified: true })
  const { db, secret } = await openStore(config, systemClock)
  const factors = secondFactorStore(db, sealing(secret))
  for (const { owner } of [ada, eve]) await factors.begin(owner.id, systemClock.now())
  await expect(removeFactorOf(config, 'nobody@example.com')).rejects.toThrow('Nobody with the address')
  expect(await removeFactorOf(config, 'Ada@example.com')).toEqual({
    ...{ person_id: ada.owner.id, email: 'ada@example.com', removed: true },
  })
  expect([await factors.isBegun(ada.owner.id), await factors.isBegun(eve.owner.id)]).toEqual([false, true])
  const log = await db.rows(sql`
    SELECT actor, action, target FROM audit_entry WHERE project_id = ${ada.project.id} AND action LIKE '%second%'`)
  expect(log).toEqual([{ actor: 'operator', action: 'switchyard second-factor remove', target: ada.owner.id }])
  await expect(removeFactorOf(config, 'ada@example.com')).rejects.toThrow('has a second factor')
  await db.close()
})
