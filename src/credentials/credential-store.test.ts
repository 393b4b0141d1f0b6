// Provider credentials at rest, on whichever engine this run is for.
import { expect, test } from 'vitest'
import { allOf } from '../../test/support/batches.ts'
import { NOON } from '../../test/support/clock.ts'
import { contentsOf, withDb } from '../../test/support/databases.ts'
import { epochsRaised, projectIn } from '../../test/support/projects.ts'
import { rfc3339 } from '../core/clock.ts'
import { sealing } from '../core/sealing.ts'
import { sql } from '../storage/db.ts'
import { enterCredential } from './credential.ts'
import { credentialStore, REVOKED_MAX } from './credential-store.ts'
import { maskSecret } from './secret-entry.ts'

const SECRET = 'sk-proj-0123456789-abcdefghij'

test.each([
  ['sk-0123456789abcdef', 'sk-0…cdef'],
  ['0123456789abcdef', '0123…cdef'],
  ['0123456789abcde', '…'],
  ['x', '…'],
])('R4 %s is shown as %s', (secret, masked) => {
  expect(maskSecret(secret)).toBe(masked)
})

withDb((db) => {
  const store = (secret = 'the secret of this server, long enough') => credentialStore(db(), sealing(secret))

  async function entered(project_id: string) {
    const made = enterCredential(project_id, { provider: 'openai', name: 'ours', secret: SECRET }, NOON)
    await store().insert(made, NOON)
    return made.credential
  }

  test('R20 a credential comes back without its secret, and the secret by itself', async () => {
    const made = await entered(await projectIn(db()))
    expect(await store().find(made.project_id, made.id)).toEqual(made)
    expect(JSON.stringify(await allOf(store().list(made.project_id)))).not.toContain(SECRET.slice(4, -4))
    expect(await store().secretOf(made.project_id, made.id)).toBe(SECRET)
  })

  test('R20 the store holds no part of the secret beyond its mask', async () => {
    const { id } = await entered(await projectIn(db()))
    const [row] = await db().rows<{ sealed: Uint8Array }>(sql`SELECT sealed FROM provider_credential WHERE id = ${id}`)
    const [sealed, contents] = [Buffer.from(row!.sealed), await contentsOf(db())]
    for (let at = 0; at + 8 <= SECRET.length; at++) {
      const piece = SECRET.slice(at, at + 8)
      expect([sealed.includes(piece), contents.includes(piece)]).toEqual([false, false])
    }
  })

  test('R20 moved to another row or project, or under another server secret, it does not open', async () => {
    const [one, two] = [await entered(await projectIn(db())), await entered(await projectIn(db()))]
    await expect(store('another secret, just as long as it').secretOf(one.project_id, one.id)).rejects.toThrow()
    await db().rows(sql`
      UPDATE provider_credential SET sealed = (SELECT sealed FROM provider_credential WHERE id = ${one.id})
      WHERE id = ${two.id}`)
    await expect(store().secretOf(two.project_id, two.id)).rejects.toThrow()
  })

  test('R7 revoking removes the secret at once, keeps the row, and finds it a second time', async () => {
    const { project_id, id } = await entered(await projectIn(db()))
    expect(await store().revoke(project_id, id)).toBe(true)
    expect(await store().secretOf(project_id, id)).toBeUndefined()
    expect((await allOf(store().list(project_id))).map((one) => one.status)).toEqual(['revoked'])
    const [row] = await db().rows<{ sealed: unknown }>(sql`SELECT sealed FROM provider_credential WHERE id = ${id}`)
    expect(row?.sealed).toBeNull()
    expect(await store().revoke(project_id, id)).toBe(true)
  })

  test('R70 a revoked one says nothing of models any more, and so many stay to be seen', async () => {
    const project_id = await projectIn(db())
    await db().transaction(async (tx) => {
      for (let n = 0; n < REVOKED_MAX; n++)
        await tx.rows(sql`
          INSERT INTO provider_credential (id, project_id, provider, name, masked, settings, status, created_at,
                                           sequence)
          VALUES (${`pcr_${project_id}_${n}`}, ${project_id}, 'openai', 'old', '…', '{"region":"eu"}', 'revoked',
                  ${rfc3339(NOON)}, ${n + 1})`)
    })
    const models = { m: 'gpt-4o' }
    const made = enterCredential(project_id, { provider: 'openai', name: 'ours', secret: SECRET, models }, NOON)
    await store().insert(made, NOON)
    expect((await allOf(store().list(project_id)))[0]?.models).toEqual(models)
    expect(await store().revoke(project_id, made.credential.id)).toBe(true)
    const listed = await allOf(store().list(project_id))
    expect([listed.length, listed[0]?.id, listed.at(-1)?.id]).toEqual([
      REVOKED_MAX,
      made.credential.id,
      `pcr_${project_id}_1`,
    ])
    expect(listed.filter(({ models, region }) => (models ?? region) !== undefined)).toEqual([])
    const [row] = await db().rows(sql`SELECT settings FROM provider_credential WHERE id = ${made.credential.id}`)
    expect(row).toEqual({ settings: null })
  })

  test('R7 a verdict does not bring a revoked credential back', async () => {
    const { project_id, id } = await entered(await projectIn(db()))
    const refused = await store().recordVerdict(project_id, id, 'refused', NOON + 1)
    expect([refused?.status, refused?.verified_at]).toEqual(['refused', rfc3339(NOON + 1)])
    await store().revoke(project_id, id)
    const late = await store().recordVerdict(project_id, id, 'active', NOON + 2)
    expect([late?.status, late?.verified_at]).toEqual(['revoked', rfc3339(NOON + 1)])
  })

  test('§5.8 another project has no such credential', async () => {
    const { id } = await entered(await projectIn(db()))
    const stranger = await projectIn(db())
    expect(await store().find(stranger, id)).toBeUndefined()
    expect(await store().secretOf(stranger, id)).toBeUndefined()
    expect(await store().revoke(stranger, id)).toBe(false)
    expect(await store().recordVerdict(stranger, id, 'refused', NOON)).toBeUndefined()
    expect(await allOf(store().list(stranger))).toEqual([])
  })

  test('R73 three refusals in a row refuse it, until it is verified; one that is taken ends the row', async () => {
    const { project_id, id } = await entered(await projectIn(db()))
    const status = async () => (await store().find(project_id, id))?.status
    const refuse = () => store().noteRefused(project_id, id, NOON)
    await refuse()
    await refuse()
    await store().noteTaken(project_id, id)
    await refuse()
    await refuse()
    expect(await status()).toBe('active')
    await Promise.all([refuse(), refuse()])
    expect(await status()).toBe('refused')
    await store().noteTaken(project_id, id) // of a call that began before
    expect(await status()).toBe('refused')
    await store().recordVerdict(project_id, id, 'active', NOON)
    await refuse()
    await refuse()
    expect(await status()).toBe('active')
    await store().revoke(project_id, id)
    await refuse()
    expect(await status()).toBe('revoked')
  })

  test('R40, R73 a refusal raises the routing epoch, and so does what ends the row; else nothing is written', async () => {
    const { project_id, id } = await entered(await projectIn(db()))
    const raised = (work: () => Promise<unknown>) => epochsRaised(db(), project_id, work)
    expect(await raised(() => store().noteTaken(project_id, id))).toBe(0)
    expect(await raised(() => store().noteRefused(project_id, id, NOON))).toBe(1)
    expect(await raised(() => store().noteTaken(project_id, id))).toBe(1)
    expect(await raised(() => store().noteRefused('prj_other', id, NOON))).toBe(0)
  })

  test('R40 every change raises the routing epoch', async () => {
    const project_id = await projectIn(db())
    const raised = (work: () => Promise<unknown>) => epochsRaised(db(), project_id, work)
    expect(await raised(() => entered(project_id))).toBe(1)
    const [made] = await allOf(store().list(project_id))
    expect(await raised(() => store().recordVerdict(project_id, made!.id, 'refused', NOON))).toBe(1)
    expect(await raised(() => store().revoke(project_id, made!.id))).toBe(1)
    expect(await raised(() => store().revoke(project_id, 'pcr_unknown'))).toBe(0)
  })
})
