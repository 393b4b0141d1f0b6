// 0160: the link that the start prints makes one person the owner of the first project, also where sign-up is closed.
import { expect, test } from 'vitest'
import { OWNER_LINK_LIFE_MS } from '../../src/accounts/owner-link.ts'
import { ownerLinkStore } from '../../src/accounts/owner-link-store.ts'
import { foundFirstProject } from '../../src/start/bootstrap.ts'
import { sql } from '../../src/storage/db.ts'
import { browserOn, newAddress, newEmail, newPerson, PASSWORD, settle, tokenIn, watched } from '../support/browser.ts'
import { startService, type TestService, withService } from '../support/service.ts'
import { mutateSql, type Tampering } from '../support/tampered-db.ts'

const CLAIM = '/auth/become-owner'
const WRONG = 'not the password at all'

const { mails, options } = watched({ tampering: {} })

withService((service) => {
  /** A project that nobody can sign in to, its key, and the secret of its link. */
  async function unowned() {
    const { project, get } = await service().newProject()
    const { secret } = await ownerLinkStore(service().db).mint(project.id, service().clock.now())
    return { project_id: project.id, get, secret }
  }
  const browser = (address?: string) => browserOn(service(), address)
  const claim = (token: string, email: string, password = PASSWORD) => browser().post(CLAIM, { token, email, password })
  const ownerOf = async (project_id: string) => {
    const [row] = await service().db.rows<{ email: string; verified_at: string | null }>(sql`
      SELECT o.email, o.verified_at FROM project p JOIN person o ON o.id = p.owner_id WHERE p.id = ${project_id}`)
    return row
  }

  test('0160 a newcomer gets an account, confirmed, owns the project and is signed in; the deed is on record', async () => {
    const { project_id, get, secret } = await unowned()
    const [email, at] = [newEmail(), browser()]
    const { status, body } = await at.post(CLAIM, {
      token: secret,
      email: ` ${email.toUpperCase()}`,
      password: PASSWORD,
    })
    expect([status, body.person]).toEqual([200, { id: body.person.id, email, email_verified: true }])
    expect(body.project).toEqual({ id: project_id, name: 'home', role: 'owner', is_operator: true }) // the first (R79)
    expect((await at.get('/auth/me')).body).toEqual(body)
    expect((await at.post('/v2/api-keys', { name: 'ci', scopes: ['admin'] })).status).toBe(200)
    expect((await ownerOf(project_id))?.email).toBe(email)
    const deeds = await get('/v2/audit-log?action=POST%20%2Fauth%2Fbecome-owner')
    expect(deeds.body.data).toMatchObject([{ actor: body.person.id, target: body.person.id }])
    expect((await browser().post('/auth/login', { email, password: PASSWORD })).status).toBe(200)
  })

  test('0160 of many who open it at once one wins; the others are told what to do, and leave nothing', async () => {
    const { project_id, secret } = await unowned()
    const emails = Array.from({ length: 6 }, newEmail)
    const answers = await Promise.all(emails.map((email) => claim(secret, email)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400, 400, 400])
    const loser = answers.find(({ status }) => status === 400)
    expect(loser?.body.error.message).toMatch(
      /was used, was replaced, or has expired.* `switchyard owner-link` prints another/,
    )
    const winner = emails[answers.findIndex(({ status }) => status === 200)]
    expect((await ownerOf(project_id))?.email).toBe(winner)
    const people = await service().db.rows<{ email: string }>(sql`SELECT email FROM person`)
    expect(people.filter(({ email }) => emails.includes(email)).map(({ email }) => email)).toEqual([winner])
    expect((await service().storingNothing(() => claim(secret, newEmail()))).status).toBe(400)
  })

  test('0160 it lapses after 24 hours, and another takes its place; it lies in the store as a hash only', async () => {
    const { project_id, secret } = await unowned()
    const [row] = await service().db.rows(sql`SELECT * FROM owner_link WHERE project_id = ${project_id}`)
    expect(JSON.stringify(row)).not.toContain(secret)
    service().clock.advance(OWNER_LINK_LIFE_MS)
    expect((await service().storingNothing(() => claim(secret, newEmail()))).status).toBe(400)
    const { secret: first } = await ownerLinkStore(service().db).mint(project_id, service().clock.now())
    const { secret: second } = await ownerLinkStore(service().db).mint(project_id, service().clock.now())
    expect((await claim(first, newEmail())).status).toBe(400)
    service().clock.advance(OWNER_LINK_LIFE_MS - 1)
    expect((await claim(second, newEmail())).status).toBe(200)
  })

  test('0160 whoever is signed in takes it as themselves, and keeps what they had', async () => {
    const { project_id, secret } = await unowned()
    const ada = await newPerson(service(), mails)
    const { status, body } = await ada.post(CLAIM, { token: secret })
    expect([status, body.person.id, body.project.id]).toEqual([200, ada.person_id, project_id])
    expect(body.projects.map(({ id }: { id: string }) => id).sort()).toEqual([ada.project_id, project_id].sort())
    expect((await browser().post(CLAIM, { token: secret })).status).toBe(400)
  })

  test('T-102 with a session, no page of another site can use it', async () => {
    const { secret } = await unowned()
    const ada = await newPerson(service(), mails)
    const from = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
    expect((await service().storingNothing(() => ada.post(CLAIM, { token: secret }, from))).status).toBe(403)
  })

  test('0160 an address with a confirmed account needs its password, and wrong ones count as failed logins', async () => {
    const { project_id, secret } = await unowned()
    const ada = await newPerson(service(), mails)
    const at = newAddress()
    for (let n = 0; n < 5; n++)
      expect((await browser(at).post(CLAIM, { token: secret, email: ada.email, password: WRONG })).status).toBe(401)
    const sixth = await browser(at).post(CLAIM, { token: secret, email: ada.email, password: PASSWORD })
    expect(sixth.status).toBe(429)
    expect((await ownerOf(project_id))?.email).not.toBe(ada.email)
    const right = await claim(secret, ada.email)
    expect([right.status, right.body.person.id]).toEqual([200, ada.person_id])
  })

  test('0144 of an account that nobody confirmed, only who knows its password keeps it; a stranger loses the address', async () => {
    const mine = await unowned()
    const ada = await newPerson(service(), mails, { verified: false })
    const kept = await claim(mine.secret, ada.email)
    expect(kept.body.person).toEqual({ id: ada.person_id, email: ada.email, email_verified: true })
    expect((await browser().post('/auth/verify-email', { token: ada.token })).status).toBe(400)

    const { secret } = await unowned()
    const stranger = await newPerson(service(), mails, { verified: false })
    const taken = await claim(secret, stranger.email, 'a wholly other password')
    expect([taken.status, taken.body.person.email_verified]).toEqual([200, true])
    expect(taken.body.person.id).not.toBe(stranger.person_id)
    expect(taken.body.projects).toHaveLength(1)
    expect((await stranger.get('/auth/me')).status).toBe(401)
  })

  test('0160 somebody whom the operator made without a password gets theirs by it', async () => {
    const { project_id, secret } = await unowned()
    const email = (await ownerOf(project_id))?.email ?? ''
    expect((await claim(secret, email)).status).toBe(200)
    expect((await browser().post('/auth/login', { email, password: PASSWORD })).status).toBe(200)
  })

  test('0160 once somebody owns the project another way, the link is dead', async () => {
    const { project_id, secret } = await unowned()
    const { email } = (await ownerOf(project_id)) ?? { email: '' }
    await browser().post('/auth/password-reset', { email })
    await settle(service())
    const token = tokenIn(mails.findLast(({ to }) => to === email))
    await browser().post('/auth/password-reset/confirm', { token, password: PASSWORD })
    expect((await service().storingNothing(() => claim(secret, newEmail()))).status).toBe(400)
  })

  test.each([
    ['nobody is signed in and nobody is named', {}, /'email' and 'password' are required/],
    ['no password', { email: 'a@example.com' }, /'email' and 'password' are required/],
    ['no address', { password: PASSWORD }, /'email' and 'password' are required/],
    ['an address that is none', { email: 'nobody', password: PASSWORD }, /'email' must be an e-mail address/],
    ['a short password', { email: 'b@example.com', password: 'short' }, /'password' must have at least 12/],
  ])('400 %s: the link stays good', async (_what, body, message) => {
    const { secret } = await unowned()
    const refused = await service().storingNothing(() => browser().post(CLAIM, { token: secret, ...body }))
    expect([refused.status, refused.body.error.message]).toEqual([400, expect.stringMatching(message)])
    expect((await claim(secret, newEmail())).status).toBe(200)
  })
}, options)

test('0160 it works where sign-up is closed, for the project of the first start, which the placeholder then leaves', async () => {
  const watch = watched({ parts: { sign_up: 'invited' } })
  const closed = await startService(watch.options)
  await closed.db.rows(sql`DELETE FROM api_key`)
  await closed.db.rows(sql`DELETE FROM membership`)
  await closed.db.rows(sql`DELETE FROM project`)
  const founded = await foundFirstProject(closed.db, closed.clock.now())
  if (typeof founded !== 'object') throw new Error(founded)
  const at = browserOn(closed)
  const body = { token: founded.owner_link.secret, email: 'ada@example.com', password: PASSWORD }
  expect((await at.post(CLAIM, body)).status).toBe(200)
  const members = (await at.get('/v2/members')).body.data
  expect(members).toMatchObject([{ email: 'ada@example.com', role: 'owner', status: 'active' }])
  const spent = await closed.as(founded.key.raw).get('/v2/project')
  expect(spent.body).toMatchObject({ id: founded.project.id, owner_verified: true })
})

test('0160 planted: a link that works twice, or for ever, is caught', async () => {
  const broken = async (from: string | RegExp, to: string) => {
    const tampering: Tampering = {}
    const service: TestService & { project: { id: string } } = await startService(watched({ tampering }).options)
    mutateSql(tampering, from, to)
    const { secret } = await ownerLinkStore(service.db).mint(service.project.id, service.clock.now())
    const use = async () =>
      (await browserOn(service).post(CLAIM, { token: secret, email: newEmail(), password: PASSWORD })).status
    await service.db.rows(sql`UPDATE person SET password_hash = NULL`)
    const first = await use()
    await service.db.rows(sql`UPDATE person SET password_hash = NULL`) // else the owner alone would refuse the second
    const second = await use()
    const late = await ownerLinkStore(service.db).mint(service.project.id, service.clock.now())
    await service.db.rows(sql`UPDATE person SET password_hash = NULL`)
    service.clock.advance(OWNER_LINK_LIFE_MS)
    const body = { token: late.secret, email: newEmail(), password: PASSWORD }
    return [first, second, (await browserOn(service).post(CLAIM, body)).status]
  }
  expect(await broken('DELETE FROM owner_link', 'DELETE FROM owner_link')).toEqual([200, 400, 400])
  expect(await broken('DELETE FROM owner_link WHERE hash', 'UPDATE owner_link SET hash = hash WHERE hash')).toEqual([
    200, 200, 400,
  ])
  expect(await broken(/ AND expires_at >/, ' AND expires_at + 360000000 >')).toEqual([200, 400, 200])
})
