// §5.9, 0342: codes of a device beside the password.
import { Secret, TOTP } from 'otpauth'
import { describe, expect, test } from 'vitest'
import { stepOf } from '../../src/accounts/second-factor.ts'
import { MINUTE_MS } from '../../src/core/clock.ts'
import { sql } from '../../src/storage/db.ts'
import { type Browser, browserOn, newPerson, PASSWORD, watched } from '../support/browser.ts'
import { type Answer, withService } from '../support/service.ts'
import { mutateSql } from '../support/tampered-db.ts'

const { mails, options } = watched({ tampering: {} })
const PATH = '/auth/second-factor'
const STEP_MS = 30_000
const told = ({ status, body }: Answer) => [status, body.error?.type]
const WRONG = [401, 'invalid_credentials']
const REQUIRED = [401, 'second_factor_required']

test('RFC 6238, appendix B: the codes are those of the standard, a step before and after, and no further', () => {
  const secret = new TextEncoder().encode('12345678901234567890')
  const TABLE: [seconds: number, code: string][] = [
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
    [20_000_000_000, '353130'],
  ]
  for (const [seconds, code] of TABLE) {
    const step = Math.floor(seconds / 30)
    const at = seconds * 1_000
    expect(stepOf(secret, code, at)).toBe(step)
    expect(stepOf(secret, `${code.slice(0, 3)} ${code.slice(3)}`, at)).toBe(step)
    expect([stepOf(secret, code, at - STEP_MS), stepOf(secret, code, at + STEP_MS)]).toEqual([step, step])
    expect([stepOf(secret, code, at - 2 * STEP_MS), stepOf(secret, code, at + 2 * STEP_MS)]).toEqual([
      undefined,
      undefined,
    ])
  }
  for (const odd of ['', '28708', '2870822', 'abcdef', '２８７０８２'])
    expect(stepOf(secret, odd, 59_000)).toBeUndefined()
})

withService((service) => {
  const logIn = (email: string, code?: string, at: Browser = browserOn(service())) =>
    at.post('/auth/login', { email, password: PASSWORD, ...(code !== undefined && { code }) })

  /** Somebody with a second factor, the device that has it, and the recovery codes. */
  async function enrolled() {
    const person = await newPerson(service(), mails)
    const { secret, uri } = (await person.post(PATH, { password: PASSWORD })).body
    const device = new TOTP({ secret })
    const code = (ahead_ms = 0) => device.generate({ timestamp: service().clock.now() + ahead_ms })
    const confirmed = await person.post(`${PATH}/confirm`, { code: code() })
    return { ...person, secret, uri, code, codes: confirmed.body.recovery_codes as string[], confirmed }
  }

  describe('§5.9 setting it up', () => {
    test('§5.9 a secret and its address, then a code of it; on record; from then on the password alone does not log in', async () => {
      const { email, get, secret, uri, codes, code, confirmed, project_id, person_id } = await enrolled()
      expect(secret).toMatch(/^[A-Z2-7]{32}$/)
      const address = new URL(uri)
      expect([address.protocol, address.host]).toEqual(['otpauth:', 'totp'])
      expect(Object.fromEntries(address.searchParams)).toMatchObject({ secret, issuer: 'Switchyard', digits: '6' })
      expect(uri).toContain(encodeURIComponent(email))
      expect(confirmed.status).toBe(200)
      expect([codes.length, new Set(codes).size]).toEqual([10, 10])
      expect((await get(PATH)).body).toEqual({
        ...{ object: 'second_factor', enabled: true, recovery_codes_left: 10, has_password: true },
      })
      const [entry] = await service().db.rows(sql`
        SELECT actor, action FROM audit_entry WHERE project_id = ${project_id} ORDER BY sequence DESC LIMIT 1`)
      expect(entry).toEqual({ actor: person_id, action: 'POST /auth/second-factor/confirm' })
      expect(told(await logIn(email))).toEqual(REQUIRED)
      expect((await logIn(email, code(STEP_MS))).status).toBe(200)
    })

    test('§5.9 until it is confirmed it counts for nothing; a wrong code confirms nothing', async () => {
      const person = await newPerson(service(), mails)
      expect((await person.post(`${PATH}/confirm`, { code: '123456' })).status).toBe(400)
      const { secret } = (await person.post(PATH, { password: PASSWORD })).body
      const right = new TOTP({ secret }).generate({ timestamp: service().clock.now() })
      const wrong = right === '000000' ? '000001' : '000000'
      expect(told(await person.post(`${PATH}/confirm`, { code: wrong }))).toEqual(WRONG)
      expect((await person.get(PATH)).body.enabled).toBe(false)
      expect((await logIn(person.email)).status).toBe(200)
      const second = (await person.post(PATH, { password: PASSWORD })).body.secret
      expect(second).not.toBe(secret)
      expect(told(await person.post(`${PATH}/confirm`, { code: right }))).toEqual(WRONG)
    })

    test('§5.9 only with the password, only once, only for who is signed in; nothing is stored otherwise', async () => {
      const person = await newPerson(service(), mails)
      const stranger = browserOn(service())
      for (const [path, body] of [
        ['', { password: PASSWORD }],
        ['/confirm', { code: '1' }],
        ['/remove', { password: PASSWORD, code: '1' }],
      ] as const)
        expect((await service().storingNothing(() => stranger.post(PATH + path, body))).status).toBe(401)
      expect((await stranger.get(PATH)).status).toBe(401)
      expect(told(await person.post(PATH, { password: 'another password' }))).toEqual(WRONG)
      expect(
        await service().db.rows(sql`SELECT person_id FROM second_factor WHERE person_id = ${person.person_id}`),
      ).toEqual([])
      const owner = await enrolled()
      expect((await service().storingNothing(() => owner.post(PATH, { password: PASSWORD }))).status).toBe(400)
    })

    test('R20 neither the secret nor a recovery code lies readable in the store', async () => {
      const { secret, codes, person_id } = await enrolled()
      const [row] = await service().db.rows<{ sealed_secret: Uint8Array }>(sql`
        SELECT sealed_secret FROM second_factor WHERE person_id = ${person_id}`)
      const sealed = Buffer.from(row?.sealed_secret ?? [])
      expect(sealed.length).toBeGreaterThan(20)
      expect([sealed.includes(secret), sealed.includes(Buffer.from(Secret.fromBase32(secret).bytes))]).toEqual([
        false,
        false,
      ])
      const kept = JSON.stringify(await service().db.rows(sql`SELECT * FROM recovery_code`))
      expect(codes.filter((one) => kept.includes(one))).toEqual([])
    })
  })

  describe('§5.9 codes', () => {
    test('§5.9 a code works once, also where it comes many times at once; one of a step before it works no more', async () => {
      const { email, code } = await enrolled()
      service().clock.advance(2 * STEP_MS)
      const [older, newer] = [code(-STEP_MS), code()]
      const answers = await Promise.all(Array.from({ length: 4 }, () => logIn(email, newer)))
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401])
      expect(told(await logIn(email, older))).toEqual(WRONG)
      expect((await logIn(email, code(STEP_MS))).status).toBe(200)
    })

    test('§5.9 planted: a statement that does not ask whether the step was used is caught', async () => {
      const { email, code } = await enrolled()
      service().clock.advance(2 * STEP_MS)
      const mutant = mutateSql(service().tampering, 'AND last_step < ', 'AND 0 < ', /UPDATE second_factor/)
      const answers = [await logIn(email, code()), await logIn(email, code())]
      service().tampering.rows = undefined
      expect([mutant.changed() > 0, ...answers.map(({ status }) => status)]).toEqual([true, 200, 200])
    })

    test('§5.9 a recovery code works once, and is counted; another person’s does not', async () => {
      const [one, other] = [await enrolled(), await enrolled()]
      const [first = '', second = ''] = one.codes
      expect(told(await logIn(other.email, first))).toEqual(WRONG)
      const answers = await Promise.all([logIn(one.email, first), logIn(one.email, first)])
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 401])
      expect((await logIn(one.email, ` ${second} `)).status).toBe(200)
      expect((await one.get(PATH)).body.recovery_codes_left).toBe(8)
    })

    test('§8 of wrong codes, 5 in 10 minutes for an account, from however many addresses; the right one then waits, too', async () => {
      const { email, code } = await enrolled()
      service().clock.advance(2 * STEP_MS)
      const wrong = code() === '000000' ? '000001' : '000000'
      const answers = await Promise.all(Array.from({ length: 12 }, () => logIn(email, wrong)))
      expect(answers.filter(({ status }) => status === 401)).toHaveLength(5)
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(7)
      expect((await logIn(email, code())).status).toBe(429)
      service().clock.advance(10 * MINUTE_MS)
      expect((await logIn(email, code())).status).toBe(200)
    })

    test('F18 whether an account has one is told to those alone who know its password', async () => {
      const [with_one, without] = [await enrolled(), await newPerson(service(), mails)]
      const bytes = await Promise.all(
        [with_one.email, without.email, 'nobody@example.com'].map(async (email) => {
          const { status, body } = await browserOn(service()).post('/auth/login', {
            email,
            password: 'a wrong password',
          })
          return JSON.stringify([status, body])
        }),
      )
      expect(new Set(bytes).size).toBe(1)
    })

    test('§5.9 a new password leaves it: who has the mailbox alone does not get in', async () => {
      const { email, code } = await enrolled()
      const at = browserOn(service())
      await at.post('/auth/password-reset', { email })
      await service().housekeep('look into sign-ups and resets')
      await service().housekeep('send mails')
      const token = /#token=(\w+)/.exec(mails.findLast(({ to }) => to === email)?.link ?? '')?.[1]
      const password = 'another password of hers'
      expect((await at.post('/auth/password-reset/confirm', { token, password })).status).toBe(200)
      expect(told(await at.post('/auth/login', { email, password }))).toEqual(REQUIRED)
      expect((await at.post('/auth/login', { email, password, code: code(STEP_MS) })).status).toBe(200)
    })
  })

  test('R20 sealed with another server secret, codes of the device are wrong, and recovery codes still work', async () => {
    const { email, code, codes, person_id } = await enrolled()
    await service().db.rows(sql`
      UPDATE second_factor SET sealed_secret = ${Buffer.alloc(48, 7)} WHERE person_id = ${person_id}`)
    expect(told(await logIn(email, code(STEP_MS)))).toEqual(WRONG)
    expect((await logIn(email, codes[0])).status).toBe(200)
  })

  test('§5.9 it is removed with the password and a code, and not with either alone; on record', async () => {
    const { email, post, get, codes, project_id } = await enrolled()
    const [code = '', other = ''] = codes
    expect(told(await post(`${PATH}/remove`, { password: 'a wrong password', code }))).toEqual(WRONG)
    expect(told(await post(`${PATH}/remove`, { password: PASSWORD, code: 'aaaaaaaa-aaaaaaaa' }))).toEqual(WRONG)
    expect((await get(PATH)).body.enabled).toBe(true)
    const gone = await post(`${PATH}/remove`, { password: PASSWORD, code })
    expect([gone.status, gone.body.enabled]).toEqual([200, false])
    expect((await logIn(email)).status).toBe(200)
    expect((await logIn(email, other)).status).toBe(200) // which nobody asked for
    const log = await service().db.rows<{ action: string }>(sql`
      SELECT action FROM audit_entry WHERE project_id = ${project_id} AND action LIKE '%second-factor%' ORDER BY sequence`)
    expect(log.map(({ action }) => action)).toEqual([`POST ${PATH}/confirm`, `POST ${PATH}/remove`])
  })
}, options)
