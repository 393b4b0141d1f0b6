// §5.6, §5.9, §8: people sign up, confirm, log in, reset. By journey, then by promise.
import { describe, expect, test } from 'vitest'
import { NOBODYS_HASH } from '../../src/accounts/password.ts'
import { HOUR_MS, MINUTE_MS } from '../../src/core/clock.ts'
import { foundProject } from '../../src/start/bootstrap.ts'
import { sql } from '../../src/storage/db.ts'
import {
  type Browser,
  browserOn,
  newAddress,
  newEmail,
  newPerson,
  PASSWORD,
  settle,
  tokenIn,
  watched,
  withoutEdge,
} from '../support/browser.ts'
import { contentsOf } from '../support/databases.ts'
import { type Answer, startService, type TestService, withService } from '../support/service.ts'
import { countStatements, deferred, mutateSql, type Tampering, takeAway, textOf } from '../support/tampered-db.ts'

const WRONG = 'not the password at all'
const NEW = 'a wholly other password'
const identity = ({ status, body }: Answer) => [status, body.error?.type, body.error?.code]
const LIMITED = [429, 'rate_limit_error', 'rate_limit_exceeded']
const REFUSED = [401, 'invalid_credentials', 'invalid_credentials']

const { mails, hashing, options } = watched({ tampering: {} })
const lastTo = (email: string) => mails.findLast((mail) => mail.to === email)
const countTo = (email: string) => mails.filter((mail) => mail.to === email).length

withService((service) => {
  const browser = (address?: string) => browserOn(service(), address)
  const signUp = (at: Browser, email: string, password = PASSWORD) => at.post('/auth/signup', { email, password })
  const logIn = (at: Browser, email: string, password = PASSWORD) => at.post('/auth/login', { email, password })

  test('§5.6 the journey: sign up, no key yet, confirm, a key, log in elsewhere, reset', async () => {
    const [email, home, elsewhere] = [newEmail(), browser(), browser()]
    const signed = await home.post('/auth/signup', { email: ` ${email.toUpperCase()}`, password: PASSWORD })
    expect([signed.status, signed.body]).toEqual([200, { object: 'sign_up', email, status: 'mailed' }])
    expect(signed.headers['set-cookie']).toMatch(
      /^switchyard-sign-up=\w{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=86400$/,
    )
    expect(home.jar.cookie).toBeUndefined() // nobody is signed in by that

    const session = await logIn(home, email)
    expect(session.body).toMatchObject({
      object: 'session',
      person: { email, email_verified: false },
      project: { name: email.split('@')[0], role: 'owner' },
    })
    expect(identity(await home.post('/v2/api-keys', { name: 'ci' }))).toEqual([
      403,
      'insufficient_scope',
      'insufficient_scope',
    ])

    await settle(service())
    expect(countTo(email)).toBe(1)
    const verified = await elsewhere.post('/auth/verify-email', { token: tokenIn(lastTo(email)) })
    expect(verified.body).toEqual({ object: 'email_verification', email, verified: true })

    const created = await home.post('/v2/api-keys', { name: 'ci', scopes: ['admin'] })
    expect(created.status).toBe(200)
    expect((await service().as(created.body.key).get('/v2/project')).body.id).toBe(session.body.project.id)

    expect((await logIn(elsewhere, email)).status).toBe(200)
    expect((await elsewhere.get('/auth/me')).body).toEqual({
      ...session.body,
      person: { ...session.body.person, email_verified: true },
    })

    const asked = await browser().post('/auth/password-reset', { email })
    expect(asked.body).toEqual({ object: 'password_reset', email, status: 'mailed' })
    await settle(service())
    const token = tokenIn(lastTo(email))
    const changed = await browser().post('/auth/password-reset/confirm', { token, password: NEW })
    expect(changed.body).toEqual({ object: 'password_reset.confirmed', email, changed: true })

    // T-101: every session of before is over, in every browser; keys are not sessions and go on.
    for (const at of [home, elsewhere]) {
      expect(identity(await at.get('/auth/me'))).toEqual(REFUSED)
      expect((await at.get('/v2/project')).status).toBe(401)
    }
    expect((await service().as(created.body.key).get('/v2/project')).status).toBe(200)
    expect(identity(await logIn(home, email))).toEqual(REFUSED)
    expect((await logIn(home, email, NEW)).status).toBe(200)
    await settle(service())
    expect(lastTo(email)?.subject).toBe('Your password was changed')

    expect((await home.post('/auth/logout')).body).toEqual({ object: 'session.ended', ended: true })
    expect(home.jar.cookie).toBeUndefined()
    expect((await home.get('/auth/me')).status).toBe(401)
  })

  describe('0161 confirming signs in, in the browser that signed up', () => {
    const signedUp = async (at: Browser) => {
      const email = newEmail()
      await signUp(at, email)
      await settle(service())
      return { email, token: tokenIn(lastTo(email)) }
    }

    test('T-101 there, with a new session that ends the one before; the answer says so', async () => {
      const home = browser()
      const { email, token } = await signedUp(home)
      await logIn(home, email)
      const planted = home.jar.cookie ?? ''
      const { status, body } = await home.post('/auth/verify-email', { token })
      expect(status).toBe(200)
      expect(body.session).toMatchObject({ object: 'session', person: { email, email_verified: true } })
      expect(body.session.project).toMatchObject({ role: 'owner' })
      expect(home.jar.cookie).not.toBe(planted)
      expect((await home.get('/auth/me')).body).toEqual(body.session)
      expect((await browser().get('/auth/me', { cookie: planted })).status).toBe(401)
      expect((await home.post('/v2/api-keys', { name: 'ci' })).status).toBe(200)
    })

    // Who opens a link that a stranger sent, or confirms what a stranger signed up, must not end up in their account.
    test('T-101 nowhere else: a link alone begins no session, nor with the cookie of another sign-up', async () => {
      const [home, elsewhere] = [browser(), browser()]
      const { email, token } = await signedUp(home)
      await signedUp(elsewhere)
      const { status, headers, body } = await elsewhere.post('/auth/verify-email', { token })
      expect([status, body]).toEqual([200, { object: 'email_verification', email, verified: true }])
      expect(headers['set-cookie']).toBeUndefined()
      expect((await elsewhere.get('/auth/me')).status).toBe(401)
      expect((await home.post('/auth/verify-email', { token })).status).toBe(400)
      expect((await home.get('/auth/me')).status).toBe(401)
    })
  })

  describe('links', () => {
    test('T-100 a link works once, also where many use it at once', async () => {
      const email = newEmail()
      await signUp(browser(), email)
      await settle(service())
      const token = tokenIn(lastTo(email))
      const use = () => browser().post('/auth/verify-email', { token })
      const statuses = (await Promise.all(Array.from({ length: 8 }, use))).map(({ status }) => status)
      expect(statuses.sort()).toEqual([200, 400, 400, 400, 400, 400, 400, 400])
      expect(identity(await use())).toEqual([400, 'invalid_request_error', undefined])
    })

    test('T-100 a reset link works once, within its hour, for its own purpose, and only the latest of them', async () => {
      const { email } = await newPerson(service(), mails)
      const ask = async () => {
        await browser().post('/auth/password-reset', { email })
        await settle(service())
        return tokenIn(lastTo(email))
      }
      const confirm = (token: string, password = NEW) =>
        browser().post('/auth/password-reset/confirm', { token, password })

      const first = await ask()
      const second = await ask()
      expect(identity(await confirm(first))).toEqual([400, 'invalid_request_error', undefined])
      expect((await browser().post('/auth/verify-email', { token: second })).status).toBe(400)
      expect((await confirm(second)).status).toBe(200)
      expect((await confirm(second)).status).toBe(400)

      const late = await ask()
      service().clock.advance(HOUR_MS)
      expect((await service().storingNothing(() => confirm(late))).status).toBe(400)
      const justInTime = await ask()
      service().clock.advance(HOUR_MS - 1)
      const confirmed = await Promise.all(Array.from({ length: 4 }, () => confirm(justInTime)))
      expect(confirmed.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400])
    })

    test('T-100 a confirmation link lapses after 24 hours, and another sign-up sends another', async () => {
      const [email, at] = [newEmail(), browser()]
      await signUp(at, email)
      await settle(service())
      const late = tokenIn(lastTo(email))
      service().clock.advance(24 * HOUR_MS)
      expect((await at.post('/auth/verify-email', { token: late })).status).toBe(400)
      await signUp(at, email)
      await settle(service())
      expect((await at.post('/auth/verify-email', { token: tokenIn(lastTo(email)) })).status).toBe(200)
    })

    /** The promises about links and sessions that a service breaks. */
    async function brokenPromises(of: TestService, letters: typeof mails): Promise<string[]> {
      const person = await newPerson(of, letters)
      const send = (url: string, body: object) => browserOn(of).post(url, body)
      const ask = async () => {
        await send('/auth/password-reset', { email: person.email })
        await settle(of)
        return tokenIn(letters.findLast(({ to }) => to === person.email))
      }
      const used = await ask()
      await send('/auth/password-reset/confirm', { token: used, password: NEW })
      const broken: string[] = []
      const check = (promise: string, { status }: Answer) => void (status === 200 && broken.push(promise))
      check('a session outlives a reset', await person.get('/auth/me'))
      check('a link confirms twice', await send('/auth/verify-email', { token: person.token }))
      check('a link resets twice', await send('/auth/password-reset/confirm', { token: used, password: NEW }))
      const late = await ask()
      of.clock.advance(2 * HOUR_MS)
      check('a link never lapses', await send('/auth/password-reset/confirm', { token: late, password: NEW }))
      return broken
    }

    test('T-100, T-101 used and lapsed links do nothing, and a reset ends every session; planted bugs are caught', async () => {
      expect(await brokenPromises(service(), mails)).toEqual([])
      const plant = async (from: string | RegExp, to: string) => {
        const tampering: Tampering = {}
        const watch = watched({ tampering })
        const broken = await startService(watch.options)
        mutateSql(tampering, from, to)
        return brokenPromises(broken, watch.mails)
      }
      const reuse = ['a link confirms twice', 'a link resets twice']
      expect(await plant('DELETE FROM mail_token', 'UPDATE mail_token SET kind = kind')).toEqual(reuse)
      expect(await plant(/^ AND expires_at >/, ' AND expires_at + 360000000 >')).toContain('a link never lapses')
      const sessions = await plant('DELETE FROM sign_in WHERE person_id', 'DELETE FROM sign_in WHERE id')
      expect(sessions).toEqual(['a session outlives a reset'])
    })

    test('§5.9 neither links, passwords nor sessions lie readable in the store', async () => {
      const { email, token, jar } = await newPerson(service(), mails)
      await browser().post('/auth/password-reset', { email })
      await service().housekeep('look into sign-ups and resets') // the mail waits, with its link
      const everything = JSON.stringify(
        await Promise.all([
          service().db.rows(sql`SELECT * FROM mail_token`),
          service().db.rows(sql`SELECT * FROM sign_in`),
          service().db.rows(sql`SELECT * FROM person`),
          service().db.rows<{ sealed: Uint8Array }>(sql`SELECT sealed FROM mail_outbox`),
        ]),
        (_key, value) =>
          value?.type === 'Buffer' || value instanceof Uint8Array ? Buffer.from(value).toString() : value,
      )
      await settle(service())
      const secrets = [token, tokenIn(lastTo(email)), jar.cookie?.split('=')[1] ?? '', PASSWORD]
      expect(secrets.every((secret) => secret.length > 10)).toBe(true)
      expect(secrets.filter((secret) => everything.includes(secret))).toEqual([])
      expect(everything).toContain('$argon2id$v=19$') // a light one: see below
    })

    test('F11 a service that is told nothing else hashes with 19 MiB and two passes', async () => {
      const { deliverMail, settings } = watched().options.parts
      const usual = await startService({ parts: { deliverMail, settings } })
      await browserOn(usual).post('/auth/signup', { email: newEmail(), password: PASSWORD, project_name: 'usual' })
      await settle(usual)
      expect(await contentsOf(usual.db)).toContain('$argon2id$v=19$m=19456,t=2,p=1$')
    })
  })

  describe('T-100 known and unknown addresses', () => {
    /** What an outsider sees of an answer. */
    const seen = ({ status, headers, bytes }: Answer, email: string) => {
      const { 'x-request-id': _id, date: _date, ...told } = headers
      const answer = JSON.stringify([status, told, bytes.toString().replaceAll(email, 'X')])
      return answer.replace(/(sign-up=)\w{43}/, '$1…') // chance, of the same length
    }

    interface Watching {
      count: { hashed: number; verified: number }
      /** Looks into each request before it goes on, as a server without an outbox would. */
      eager?: boolean
    }

    /** For each endpoint: answers, statements and hashing about somebody known and about nobody, where they differ. */
    async function differences(of: TestService, known: string, { count, eager = false }: Watching): Promise<string[]> {
      await settle(of)
      const unknown = newEmail()
      const statements = countStatements(of.tampering)
      const found: string[] = []
      for (const [url, more] of [
        ['/auth/login', { password: WRONG }],
        ['/auth/password-reset', {}],
        ['/auth/signup', { password: WRONG }],
      ] as const) {
        const about = async (email: string) => {
          const before = { ...count }
          let answer: Answer | undefined
          const texts = await statements.while(async () => {
            answer = await browserOn(of).post(url, { email, ...more })
            if (eager) await of.housekeep('look into sign-ups and resets')
          })
          const work = [count.hashed - before.hashed, count.verified - before.verified]
          return { answer: seen(answer as Answer, email), statements: texts, hashing: work }
        }
        const [one, other] = [await about(known), await about(unknown)]
        for (const part of ['answer', 'statements', 'hashing'] as const)
          if (JSON.stringify(one[part]) !== JSON.stringify(other[part])) found.push(`${url}: ${part}`)
      }
      of.tampering.rows = undefined
      return found
    }

    test('T-100, F18 the same answer, the same statements, the same hashing', async () => {
      const { email } = await newPerson(service(), mails)
      expect(await differences(service(), email, hashing)).toEqual([])
    })

    test('T-100 planted: looking an address up before the answer, and hashing only for the known, are caught', async () => {
      const watch = watched({ tampering: {} })
      const { verify } = watch.hashing
      watch.hashing.verify = async (known, password) => known !== NOBODYS_HASH && verify(known, password)
      const broken = await startService(watch.options)
      const { email } = await newPerson(broken, watch.mails)
      const { count } = watch.hashing
      expect(await differences(broken, email, { count })).toEqual(['/auth/login: hashing'])
      expect(await differences(broken, email, { count, eager: true })).toEqual([
        '/auth/login: hashing',
        '/auth/password-reset: statements',
        '/auth/signup: statements',
      ])
    })

    test('T-100 a sign-up with a known address changes nothing, and its owner is told', async () => {
      const { email, jar, get } = await newPerson(service(), mails)
      const before = countTo(email)
      const answer = await signUp(browser(), email, NEW)
      expect([answer.status, answer.body]).toEqual([200, { object: 'sign_up', email, status: 'mailed' }])
      await settle(service())
      expect([countTo(email), lastTo(email)?.subject, lastTo(email)?.link]).toEqual([
        before + 1,
        'You already have an account',
        undefined,
      ])
      expect(identity(await logIn(browser(), email, NEW))).toEqual(REFUSED)
      expect(jar.cookie && (await get('/auth/me')).status).toBe(200)
    })

    test('T-100 a reset for nobody sends nothing', async () => {
      const email = newEmail()
      expect((await browser().post('/auth/password-reset', { email })).status).toBe(200)
      await settle(service())
      expect(countTo(email)).toBe(0)
    })

    // Guards against whoever signs up first with an address that is not theirs, and waits.
    test('T-100 what counts is the password of the sign-up that the owner confirms; sessions under another end', async () => {
      const [email, stranger] = [newEmail(), browser()]
      await signUp(stranger, email, WRONG)
      await settle(service())
      expect((await logIn(stranger, email, WRONG)).status).toBe(200)
      await signUp(browser(), email, PASSWORD)
      await settle(service())
      const token = tokenIn(lastTo(email))
      expect((await browser().post('/auth/verify-email', { token })).status).toBe(200)
      expect((await stranger.get('/auth/me')).status).toBe(401)
      expect(identity(await logIn(stranger, email, WRONG))).toEqual(REFUSED)
      expect((await logIn(browser(), email, PASSWORD)).status).toBe(200)
      const theirs = mails.filter((mail) => mail.to === email).map(tokenIn)
      expect((await stranger.post('/auth/verify-email', { token: theirs[0] })).status).toBe(400)
    })

    describe('T-100 who signed up first with another’s address leaves nothing in what its owner gets', () => {
      /** Somebody who is in an account that they opened with an address that is not theirs. */
      async function preparedByAStranger() {
        const [email, stranger] = [newEmail(), browser()]
        await stranger.post('/auth/signup', { email, password: WRONG, project_name: 'trap' })
        await settle(service())
        const { body } = await logIn(stranger, email, WRONG)
        return { email, stranger, trap: body.project.id as string }
      }

      const owners: [string, (email: string) => Promise<string | undefined>][] = [
        [
          'by a sign-up of their own',
          async (email) => {
            await browser().post('/auth/signup', { email, password: PASSWORD, project_name: 'mine' })
            await settle(service())
            await browser().post('/auth/verify-email', { token: tokenIn(lastTo(email)) })
            return 'mine'
          },
        ],
        [
          'by a new password',
          async (email) => {
            await browser().post('/auth/password-reset', { email })
            await settle(service())
            const use = { token: tokenIn(lastTo(email)), password: PASSWORD }
            await browser().post('/auth/password-reset/confirm', use)
            return email.split('@')[0]
          },
        ],
        [
          'by an invitation',
          async (email) => {
            const { post } = await newPerson(service(), mails)
            await post('/v2/members/invitations', { email, role: 'viewer' })
            await settle(service())
            const use = { token: tokenIn(lastTo(email)), password: PASSWORD }
            await browser().post('/auth/accept-invitation', use)
            return undefined
          },
        ],
        [
          'by a project that the operator made for them',
          async (email) => {
            const founding = { name: 'made', owner_email: ` ${email.toUpperCase()}`, verified: true }
            await foundProject(service().db, founding, service().clock.now())
            await browser().post('/auth/password-reset', { email })
            await settle(service())
            const use = { token: tokenIn(lastTo(email)), password: PASSWORD }
            await browser().post('/auth/password-reset/confirm', use)
            return 'made'
          },
        ],
      ]

      test.each(owners)('%s', async (_way, getIn) => {
        const { email, stranger, trap } = await preparedByAStranger()
        const name = await getIn(email)
        expect((await stranger.get('/auth/me')).status).toBe(401)
        expect(identity(await logIn(stranger, email, WRONG))).toEqual(REFUSED)
        const { status, body } = await logIn(browser(), email)
        expect([status, body.person.email, body.person.email_verified]).toEqual([200, email, true])
        expect(body.projects.map(({ id }: { id: string }) => id)).not.toContain(trap)
        if (name !== undefined) expect(body.projects.map((one: { name: string }) => one.name)).toEqual([name])
      })
    })

    test('T-101 a log-in whose password is changed while it is looked at begins no session', async () => {
      const { email } = await newPerson(service(), mails)
      const [seen, resume] = [deferred(), deferred()]
      service().tampering.rows = async (statement, run) => {
        const rows = await run(statement)
        if (!textOf(statement).includes('password_hash FROM person WHERE email')) return rows
        service().tampering.rows = undefined
        seen.resolve()
        await resume.promise
        return rows
      }
      const late = logIn(browser(), email)
      await seen.promise
      await browser().post('/auth/password-reset', { email })
      await settle(service())
      const use = { token: tokenIn(lastTo(email)), password: NEW }
      expect((await browser().post('/auth/password-reset/confirm', use)).status).toBe(200)
      resume.resolve()
      expect(identity(await late)).toEqual(REFUSED)
      const left = await service().db.rows(sql`
        SELECT s.id FROM sign_in s JOIN person p ON p.id = s.person_id WHERE p.email = ${email}`)
      expect(left).toEqual([])
    })

    test('§5.6 a project of the operator’s for somebody who is not confirmed stays theirs when they confirm', async () => {
      const email = newEmail()
      const founding = { name: 'made', owner_email: email, verified: false }
      await foundProject(service().db, founding, service().clock.now())
      await signUp(browser(), email)
      await settle(service())
      await browser().post('/auth/verify-email', { token: tokenIn(lastTo(email)) })
      expect((await logIn(browser(), email)).body.project.name).toBe('made')
    })

    test('T-100 a flood of one address fills nobody’s mailbox, and the last link still works', async () => {
      const { email } = await newPerson(service(), mails)
      const before = countTo(email)
      for (let n = 0; n < 8; n++) await browser().post('/auth/password-reset', { email })
      await settle(service())
      expect(countTo(email) - before).toBe(5)
      const confirm = { token: tokenIn(lastTo(email)), password: NEW }
      expect((await browser().post('/auth/password-reset/confirm', confirm)).status).toBe(200)
    })
  })

  describe('§8 limits', () => {
    const attempts = (bucket: string) =>
      service().db.rows<{ slot: number }>(sql`SELECT slot FROM attempt_slot WHERE bucket = ${bucket}`)

    test('F11 of 200 wrong passwords at once from one address, exactly 5 are looked at', async () => {
      const { email } = await newPerson(service(), mails)
      const at = browser()
      const before = hashing.count.verified
      const answers = await Promise.all(Array.from({ length: 200 }, () => logIn(at, email, WRONG)))
      expect(hashing.count.verified - before).toBe(5)
      expect(answers.filter(({ status }) => status === 401)).toHaveLength(5)
      expect(answers.filter((answer) => String(identity(answer)) === String(LIMITED))).toHaveLength(195)
    })

    test('F11, T-71 whatever a client says of itself, it counts as one address', async () => {
      const { email } = await newPerson(service(), mails)
      const at = browser()
      const before = hashing.count.verified
      for (let n = 0; n < 300; n++) {
        const headers = { 'x-forwarded-for': `203.0.113.${n % 256}`, 'x-real-ip': newAddress(), forwarded: `for=${n}` }
        await at.post('/auth/login', { email, password: WRONG }, headers)
      }
      expect(hashing.count.verified - before).toBe(5)
    })

    test.each([
      ['addresses of one /64', (n: number) => `2001:db8:7:7:${n.toString(16)}::1`],
      ['spellings of one IPv4 address', (n: number) => (n % 2 ? '198.51.100.7' : '::ffff:198.51.100.7')],
    ])('F11, T-72 %s count as one address', async (_what, address) => {
      const before = hashing.count.verified
      for (let n = 0; n < 100; n++) await logIn(browser(address(n)), 'nobody@example.com', WRONG)
      expect(hashing.count.verified - before).toBe(5)
    })

    test('T-70 the sixth is refused with the right password too; a success takes no failure back', async () => {
      const { email, address } = await newPerson(service(), mails)
      const at = browser(address)
      for (let n = 0; n < 3; n++) expect((await logIn(at, email, WRONG)).status).toBe(401)
      for (let n = 0; n < 3; n++) expect((await logIn(at, email)).status).toBe(200)
      for (let n = 0; n < 2; n++) expect((await logIn(at, email, WRONG)).status).toBe(401)
      const refused = await service().storingNothing(() => logIn(at, email))
      expect(identity(refused)).toEqual(LIMITED)
      expect(refused.body.error.message).toContain('5 in 10 minutes')
      expect((await logIn(browser(), email)).status).toBe(200)

      expect(refused.headers['retry-after']).toBe('600')
      service().clock.advance(10 * MINUTE_MS - 1)
      const still = await logIn(at, email)
      expect([still.status, still.headers['retry-after']]).toEqual([429, '1'])
      service().clock.advance(1)
      expect((await logIn(at, email)).status).toBe(200)
      expect(await attempts(`login ${address}`)).toHaveLength(4) // lapsed, and one of them taken and given back
    })

    test('T-73 three sign-ups and resets together in an hour; the fourth is refused before anything is hashed', async () => {
      const at = browser()
      expect((await signUp(at, newEmail())).status).toBe(200)
      expect((await at.post('/auth/password-reset', { email: newEmail() })).status).toBe(200)
      expect((await signUp(at, newEmail())).status).toBe(200)
      const before = hashing.count.hashed
      const [fourth, fifth] = [
        await service().storingNothing(() => signUp(at, newEmail())),
        await service().storingNothing(() => at.post('/auth/password-reset', { email: newEmail() })),
      ]
      expect([identity(fourth), identity(fifth)]).toEqual([LIMITED, LIMITED])
      expect(fourth.headers['retry-after']).toBe('3600')
      expect(hashing.count.hashed).toBe(before)
      service().clock.advance(HOUR_MS)
      expect((await signUp(at, newEmail())).status).toBe(200)
    })

    test('T-73 of 200 sign-ups at once from one address, three happen', async () => {
      const at = browser()
      const answers = await Promise.all(Array.from({ length: 200 }, () => signUp(at, newEmail())))
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(3)
    })

    test('R50 with the store away nobody is let in and nothing is hashed: it never fails open', async () => {
      const { email } = await newPerson(service(), mails)
      const before = { ...hashing.count }
      const at = browser()
      const bringBack = takeAway(service().tampering)
      const statuses = [await logIn(at, email), await signUp(at, newEmail())].map(({ status }) => status)
      bringBack()
      expect([statuses, hashing.count]).toEqual([[503, 503], before])
    })

    test('F11 more passwords than can be checked at once are refused, and no failure is counted for them', async () => {
      const gate = deferred()
      const held = { hash: async () => 'hash', verify: () => gate.promise.then(() => false) }
      const busy = await startService({ parts: { passwordHashing: held, settings: withoutEdge() } })
      const body = { email: 'nobody@example.com', password: WRONG }
      const sixRefused = deferred()
      const early: unknown[] = []
      const answers = Array.from({ length: 40 }, async () => {
        const { status, headers } = await browserOn(busy).post('/auth/login', body)
        if (status === 429 && early.push(headers['retry-after']) === 6) sixRefused.resolve()
        return status
      })
      await sixRefused.promise // two are being checked, 32 wait, and none of them is answered before the gate opens
      gate.resolve()
      expect((await Promise.all(answers)).sort()).toEqual([...Array(34).fill(401), ...Array(6).fill(429)])
      expect(early).toEqual(Array(6).fill('1'))
      const counted = await busy.db.rows<{ bucket: string }>(sql`SELECT bucket FROM attempt_slot`)
      expect(counted).toHaveLength(34)
    })

    test('F11 planted: slots that can be taken twice, and failures that are counted afterwards, are caught', async () => {
      const verifiedWith = async (plant: (tampering: Tampering) => void) => {
        const tampering: Tampering = {}
        const watch = watched({ tampering })
        const broken = await startService(watch.options)
        plant(tampering)
        const at = browserOn(broken)
        const body = { email: 'nobody@example.com', password: WRONG }
        await Promise.all(Array.from({ length: 50 }, () => at.post('/auth/login', body)))
        return watch.hashing.count.verified
      }
      expect(await verifiedWith(() => {})).toBe(5)
      const shared = await verifiedWith((tampering) =>
        mutateSql(tampering, 'WHERE attempt_slot.expires_at <=', 'WHERE attempt_slot.expires_at >'),
      )
      expect(shared).toBeGreaterThan(5)
      const uncounted = await verifiedWith((tampering) => {
        tampering.rows = async (statement, run) =>
          textOf(statement).startsWith('INSERT INTO attempt_slot') ? [{ slot: 0 }] : run(statement)
      })
      expect(uncounted).toBeGreaterThan(5)
    })
  })

  describe('400', () => {
    test.each([
      ['no address', '/auth/signup', { password: PASSWORD }, "'email' is required"],
      ['an address that is none', '/auth/signup', { email: 'ada', password: PASSWORD }, "'email' must be"],
      ['a NUL in it', '/auth/signup', { email: 'a\0da@example.com', password: PASSWORD }, "'email' must be"],
      ['half a character', '/auth/login', { email: 'a\ud800@example.com', password: PASSWORD }, "'email' must be"],
      ['a short password', '/auth/signup', { email: 'a@b.co', password: 'elevenchars' }, 'at least 12 characters'],
      ['a number for one', '/auth/login', { email: 'a@b.co', password: 12 }, "'password' must be a string"],
      ['a blank project', '/auth/signup', { email: 'a@b.co', password: PASSWORD, project_name: ' ' }, 'project_name'],
      ['a reset without address', '/auth/password-reset', {}, "'email' is required"],
      ['a link that nobody has', '/auth/verify-email', { token: 'nobodys' }, "'token' must be"],
      ['no token', '/auth/verify-email', {}, "'token' is required"],
      [
        'a reset with a short password',
        '/auth/password-reset/confirm',
        { token: 'x', password: 'short' },
        'at least 12',
      ],
      [
        'a reset that nobody asked for',
        '/auth/password-reset/confirm',
        { token: 'x', password: NEW },
        "'token' must be",
      ],
      ['an invitation that nobody has', '/auth/accept-invitation', { token: 'x' }, "'token' must be"],
    ])('§5.9 400 on %s, and nothing is stored or hashed', async (_case, url, body, message) => {
      const before = { ...hashing.count }
      const answer = await service().storingNothing(() => browser().post(url, body))
      expect(identity(answer)).toEqual([400, 'invalid_request_error', undefined])
      expect(answer.body.error.message).toContain(message)
      expect(hashing.count).toEqual(before)
    })
  })
}, options)
