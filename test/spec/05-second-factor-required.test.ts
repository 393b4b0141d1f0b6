// §5.9, 0365: a project, or the operator, asks for a second factor of whoever signs in with a password.
import { TOTP } from 'otpauth'
import { describe, expect, test } from 'vitest'
import { sql } from '../../src/storage/db.ts'
import { newPerson, PASSWORD, watched, withoutEdge } from '../support/browser.ts'
import { type Answer, withService } from '../support/service.ts'
import { mutateSql } from '../support/tampered-db.ts'

const FACTOR = '/auth/second-factor'
const RULE = '/v2/project/second-factor'
const told = ({ status, body }: Answer) => [status, body.error?.type]
const MISSING = [403, 'second_factor_missing']

const { mails, options } = watched({ tampering: {} })

withService((service) => {
  type Person = Awaited<ReturnType<typeof newPerson>>

  async function setUp(person: Person): Promise<void> {
    const { secret } = (await person.post(FACTOR, { password: PASSWORD })).body
    const code = new TOTP({ secret }).generate({ timestamp: service().clock.now() })
    expect((await person.post(`${FACTOR}/confirm`, { code })).status).toBe(200)
  }

  /** Somebody with a second factor who requires it, and a member of the project who has none. */
  async function requiring() {
    const [owner, member] = [await newPerson(service(), mails), await newPerson(service(), mails)]
    await setUp(owner)
    await service().db.rows(sql`
      INSERT INTO membership (project_id, person_id, role, created_at, sequence)
      SELECT ${owner.project_id}, person_id, 'member', created_at, sequence FROM membership
      WHERE person_id = ${member.person_id}`)
    const about = { 'switchyard-project': owner.project_id }
    expect((await member.get('/v2/project', about)).status).toBe(200)
    const ruled = await owner.post(RULE, { required: true })
    expect([ruled.status, ruled.body.second_factor_required]).toEqual([200, true])
    return { owner, member, about }
  }

  test('§5.9 from then on who has none is kept out of it and of nothing else, until they have set one up', async () => {
    const { owner, member, about } = await requiring()
    expect(told(await service().storingNothing(() => member.get('/v2/project', about)))).toEqual(MISSING)
    expect(told(await member.post('/v2/aliases', { name: 'a', targets: [] }, about))).toEqual(MISSING)
    expect((await member.get('/v2/project')).status).toBe(200) // of their own
    expect((await member.get('/auth/me')).status).toBe(200)
    expect((await owner.get('/v2/project')).status).toBe(200)
    await setUp(member)
    expect((await member.get('/v2/project', about)).status).toBe(200)
  })

  test('§5.9 one that was begun and not confirmed counts for nothing; one that was removed neither', async () => {
    const { owner, member, about } = await requiring()
    await member.post(FACTOR, { password: PASSWORD })
    expect(told(await member.get('/v2/project', about))).toEqual(MISSING)
    await service().db.rows(sql`DELETE FROM second_factor WHERE person_id = ${owner.person_id}`)
    expect(told(await owner.get('/v2/project'))).toEqual(MISSING)
  })

  test('§5.9 keys, and who signs in with an identity provider, are not asked', async () => {
    const { owner, member, about } = await requiring()
    const { key } = (await owner.post('/v2/api-keys', { name: 'k' })).body
    const program = await service().app.inject({ url: '/v2/project', headers: { authorization: `Bearer ${key}` } })
    expect(program.statusCode).toBe(200)
    await service().db.rows(sql`
      UPDATE sign_in SET issuer = 'https://issuer.example' WHERE person_id = ${member.person_id}`)
    expect((await member.get('/v2/project', about)).status).toBe(200)
  })

  test('§5.9 who has none themselves cannot require it: nothing is stored; and it needs admin', async () => {
    const person = await newPerson(service(), mails)
    const refused = await service().storingNothing(() => person.post(RULE, { required: true }))
    expect(told(refused)).toEqual([400, 'invalid_request_error'])
    expect(refused.body.error.message).toContain("'required'")
    const { member, about } = await requiring()
    await setUp(member)
    const as_member = await service().storingNothing(() => member.post(RULE, { required: false }, about))
    expect(told(as_member)).toEqual([403, 'insufficient_scope'])
  })

  test('§5.9 it can be lifted; both are on record', async () => {
    const { owner, member, about } = await requiring()
    expect((await owner.post(RULE, { required: false })).body.second_factor_required).toBe(false)
    expect((await member.get('/v2/project', about)).status).toBe(200)
    const log = await service().db.rows<{ action: string }>(sql`
      SELECT action FROM audit_entry WHERE project_id = ${owner.project_id} AND action LIKE '%project/second-factor'`)
    expect(log).toHaveLength(2)
  })

  test('§5.9 planted: a look-up that takes a factor which is not confirmed for one is caught', async () => {
    const { member, about } = await requiring()
    await member.post(FACTOR, { password: PASSWORD })
    const mutant = mutateSql(service().tampering, 'AND f.confirmed_at IS NOT NULL', '', /lacks_second_factor/)
    const answer = await member.get('/v2/project', about)
    service().tampering.rows = undefined
    expect([mutant.changed() > 0, answer.status]).toEqual([true, 200])
  })
}, options)

describe('the operator requires it', () => {
  const { sign_in, ...settings } = withoutEdge()
  const everywhere = watched({
    parts: { settings: { ...settings, sign_in: { ...sign_in, second_factor_required: true } } },
  })

  withService((service) => {
    test('§5.9 of everybody, whatever their projects say', async () => {
      const person = await newPerson(service(), everywhere.mails)
      expect(told(await person.get('/v2/project'))).toEqual(MISSING)
      const { secret } = (await person.post(FACTOR, { password: PASSWORD })).body
      const code = new TOTP({ secret }).generate({ timestamp: service().clock.now() })
      expect((await person.post(`${FACTOR}/confirm`, { code })).status).toBe(200)
      const seen = await person.get('/v2/project')
      expect([seen.status, seen.body.second_factor_required]).toEqual([200, false])
    })
  }, everywhere.options)
})
