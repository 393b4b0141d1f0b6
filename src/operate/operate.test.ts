// What an operator does by hand, on whichever engine this run is for.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { ENGINE } from '../../test/support/databases.ts'
import { newSettings } from '../../test/support/settings.ts'
import { systemClock } from '../core/clock.ts'
import { sealing } from '../core/sealing.ts'
import { holder, idempotencyStore } from '../idempotency/idempotency-store.ts'
import { hashKey } from '../keys/key.ts'
import { keyStore } from '../keys/key-store.ts'
import { backgroundStore } from '../responses/background-store.ts'
import type { Config } from '../start/config.ts'
import { openStore } from '../start/open-store.ts'
import { lockFolder } from '../storage/data-folder.ts'
import { sql } from '../storage/db.ts'
import { adoptSecret, createProject } from './operate.ts'
import { ownerLink } from './operate-projects.ts'

const ADA = { name: 'home', owner_email: 'ada@example.com', verified: true }
const OTHER_SECRET = 'another secret, also with 32 characters'

/** Keeps `count` responses, sealed with the present secret. */
async function keepResponses(config: Config, count: number): Promise<void> {
  const { db, secret } = await openStore(config, systemClock)
  const store = idempotencyStore(db, sealing(secret), holder('test'))
  const response = { status: 200, headers: {}, body: Buffer.from('{}') }
  await db.transaction(async (tx) => {
    const inside = idempotencyStore(tx, sealing(secret), holder('test'))
    for (let n = 0; n < count; n++)
      await inside.keepAtOnce({ digest: `d${n}`, project_id: 'prj_1', key: 'k' }, response, NOON)
  })
  expect(await store.find({ digest: 'd0', project_id: 'prj_1', key: 'k' }, NOON)).toMatchObject({ kind: 'kept' })
  await db.close()
}

/** Of which some events are there; what it asks for is sealed with the present secret, too. */
async function promiseResponse(config: Config): Promise<void> {
  const { project } = await createProject(config, ADA)
  const { db, secret } = await openStore(config, systemClock)
  const store = backgroundStore(db, sealing(secret))
  const named = { id: 'resp_1', project_id: project.id }
  const asked = { key_id: 'key_1', made_by: null, made_under: null, response: {}, work: undefined }
  await store.insert({ ...named, ...asked }, NOON)
  await store.claim('me', NOON)
  await store.addEvents(named, 'me', [{ number: 0, text: 'data: {}', type: 't', response: undefined }])
  await db.close()
}

describe(ENGINE, () => {
  test('§2 a project is created beside an open store, and its key is known there at once', async () => {
    const config = await newSettings()
    const { db } = await openStore(config, systemClock)
    const { project, owner, api_key, key } = await createProject(config, ADA)
    expect(await keyStore(db).findHolder(hashKey(key), systemClock.now())).toMatchObject({
      key_id: api_key.id,
      project_id: project.id,
      owner_verified: true,
    })
    expect(owner).toEqual({ id: project.owner_id, email: 'ada@example.com', verified_at: project.created_at })
    await db.close()
  })

  test("R79 owner-link without a project is the operator's, though a clock that was set back made an older one", async () => {
    const config = await newSettings()
    const first = await createProject(config, { ...ADA, name: 'first' })
    const other = await createProject(config, { ...ADA, name: 'other' })
    const { db } = await openStore(config, systemClock)
    await db.rows(sql`UPDATE project SET sequence = 1 WHERE id = ${other.project.id}`)
    await db.close()
    const printed = await ownerLink(config, { base: 'https://switchyard.example' })
    expect([printed.project_id, printed.project_name]).toEqual([first.project.id, 'first'])
  })

  test('§4.1 an owner who was verified before stays verified', async () => {
    const config = await newSettings()
    const first = await createProject(config, ADA)
    const second = await createProject(config, { ...ADA, name: 'work', verified: false })
    expect(second.owner).toEqual(first.owner)
    expect(second.project.id).not.toBe(first.project.id)
  })

  test('R20 a store goes on with another secret only once that is adopted, and what the old one sealed is gone', async () => {
    const config = await newSettings()
    await keepResponses(config, 1_001)
    const changed = { ...config, secret: OTHER_SECRET }
    await expect(openStore(changed, systemClock)).rejects.toMatchObject({ name: 'SettingError' })
    await promiseResponse(config)
    expect(await adoptSecret(changed)).toEqual({ adopted: true, dropped: 1_001 })
    const { db } = await openStore(changed, systemClock)
    expect(await db.rows(sql`SELECT digest FROM idempotency`)).toEqual([])
    expect(await backgroundStore(db, sealing(OTHER_SECRET)).claim('me', systemClock.now())).toBeUndefined()
    expect(await db.rows(sql`SELECT response_id FROM background_events`)).toEqual([])
    await db.close()
    await expect(openStore(config, systemClock)).rejects.toThrow('sealed with another secret')
  })

  test('R20 adopting the secret that the store has already drops nothing', async () => {
    const config = await newSettings()
    await keepResponses(config, 1)
    expect(await adoptSecret(config)).toEqual({ adopted: false, dropped: 0 })
  })

  // Guards against a server that would go on sealing with the secret that was just given up.
  test('R20 no secret is adopted while somebody serves the store', async () => {
    const config = await newSettings()
    const { db } = await openStore(config, systemClock)
    const { unlock } = lockFolder(config.data_dir)
    await expect(adoptSecret({ ...config, secret: OTHER_SECRET })).rejects.toThrow(/^Another switchyard/)
    unlock()
    await db.close()
    await (await openStore(config, systemClock)).db.close()
  })

  test('R20 a secret file that is cut short is told by its name', async () => {
    const config = await newSettings()
    await createProject(config, ADA)
    writeFileSync(join(config.data_dir, 'secret'), 'short')
    await expect(openStore(config, systemClock)).rejects.toThrow(
      /secret must hold at least 32 characters; it holds 5\.$/,
    )
  })
})
