// /v2/members and /auth/accept-invitation: who belongs to a project, and as what.
import { describe, expect, test } from 'vitest'
import { browserOn, newEmail, newPerson, PASSWORD, settle, tokenIn, watched } from '../../test/support/browser.ts'
import { type Answer, startService, withService } from '../../test/support/service.ts'
import { mutateSql, type Tampering } from '../../test/support/tampered-db.ts'
import { HOUR_MS } from '../core/clock.ts'
import { sql } from '../storage/db.ts'

const MEMBERS = '/v2/members'
const INVITATIONS = '/v2/members/invitations'
const ACCEPT = '/auth/accept-invitation'
const identity = ({ status, body }: Answer) => [status, body.error?.type]
const BAD = [400, 'invalid_request_error']

const { mails, hashing, options } = watched()
const lastTo = (email: string) => mails.findLast((mail) => mail.to === email)

withService((service) => {
  const owner = () => newPerson(service(), mails)
  type Owner = Awaited<ReturnType<typeof owner>>

  async function invite(by: Pick<Owner, 'post'>, email: string, role = 'member') {
    const answer = await by.post(INVITATIONS, { email, role })
    await settle(service())
    return { answer, token: tokenIn(lastTo(email.toLowerCase())) }
  }

  const membersOf = async (by: Pick<Owner, 'get'>) =>
    ((await by.get(MEMBERS)).body.data as { id: string; email: string; role: string; status: string }[]).map(
      ({ email, role, status }) => [email, role, status],
    )

  test('R3 200: the project of a new person has one member, its owner', async () => {
    const { get, email, person_id } = await owner()
    expect((await get(MEMBERS)).body).toEqual({
      object: 'list',
      data: [
        {
          id: person_id,
          object: 'member',
          email,
          role: 'owner',
          status: 'active',
          created_at: service().clock.rfc3339(),
        },
      ],
      has_more: false,
    })
  })

  test('R3 200: the role of an open invitation is changed, and accepting gives the new one', async () => {
    const [home, email] = [await owner(), newEmail()]
    const { answer, token } = await invite(home, email, 'owner')
    const changed = await home.post(`${MEMBERS}/${answer.body.id}/role`, { role: 'viewer' })
    expect([changed.status, changed.body]).toEqual([200, { ...answer.body, role: 'viewer' }])
    const accepted = await browserOn(service()).post(ACCEPT, { token, password: PASSWORD })
    expect(accepted.body.role).toBe('viewer')
    expect((await home.post(`${MEMBERS}/${answer.body.id}/role`, { role: 'owner' })).status).toBe(404)
  })

  test('R3 200: invited, listed, accepted with a password of their own, logged in, changed, removed', async () => {
    const [home, email] = [await owner(), newEmail()]
    const { answer, token } = await invite(home, email.toUpperCase(), 'viewer')
    expect(answer.body).toMatchObject({ object: 'member', email, role: 'viewer', status: 'invited' })
    expect(answer.body.id).toMatch(/^inv_/)
    expect(lastTo(email)?.text).toContain(
      `project "of ${home.email.replace('@', ' at ').replace('.', ' dot ')}" as viewer`,
    )
    expect(await membersOf(home)).toEqual([
      [email, 'viewer', 'invited'],
      [home.email, 'owner', 'active'],
    ])

    const guest = browserOn(service())
    expect(identity(await guest.post(ACCEPT, { token }))).toEqual(BAD)
    const accepted = await guest.post(ACCEPT, { token, password: PASSWORD })
    expect(accepted.body).toEqual({
      object: 'invitation.accepted',
      project_id: home.project_id,
      email,
      role: 'viewer',
    })
    expect(identity(await guest.post(ACCEPT, { token, password: PASSWORD }))).toEqual(BAD)
    const session = (await guest.post('/auth/login', { email, password: PASSWORD })).body
    expect(session).toMatchObject({
      person: { email_verified: true },
      project: { id: home.project_id, role: 'viewer' },
    })

    const cluster = () => guest.post('/v2/byoc/clusters', { name: 'a', region: 'eu' })
    expect((await cluster()).status).toBe(403)
    const view = { page: 'usage', name: 'mine', query: '' }
    for (const by of [guest, home]) expect((await by.post('/v2/saved-views', view)).status).toBe(200)
    const role = `${MEMBERS}/${session.person.id}/role`
    expect((await home.post(role, { role: 'owner' })).body).toMatchObject({ id: session.person.id, role: 'owner' })
    expect((await cluster()).status).toBe(200)
    await home.post(role, { role: 'member' })
    expect((await cluster()).status).toBe(403)

    const removed = await home.del(`${MEMBERS}/${session.person.id}`)
    expect(removed.body).toEqual({ id: session.person.id, object: 'member.removed', removed: true })
    expect((await guest.get('/v2/project')).status).toBe(401) // at once
    const me = (await guest.get('/auth/me')).body
    expect([me.project, me.projects]).toEqual([undefined, []])
    expect(await membersOf(home)).toEqual([[home.email, 'owner', 'active']])
    const owners = await service().db.rows<{ owner: string }>(sql`
      SELECT owner FROM saved_view WHERE project_id = ${home.project_id}`)
    expect(owners).toEqual([{ owner: home.person_id }]) // R70: nobody could delete those of who is gone
  })

  test('R3 200: somebody with an account keeps their password, and looks at one project or the other', async () => {
    const [home, guest] = [await owner(), await owner()]
    const { token } = await invite(home, guest.email, 'member')
    const before = hashing.count.hashed
    expect((await guest.post(ACCEPT, { token, password: 'a password that is ignored' })).status).toBe(200)
    expect(hashing.count.hashed).toBe(before)
    expect((await guest.get('/v2/project')).body.id).toBe(guest.project_id)
    const switched = await guest.post('/auth/project', { project_id: home.project_id })
    expect(switched.body).toMatchObject({ project: { id: home.project_id, role: 'member' } })
    expect(switched.body.projects).toHaveLength(2)
    expect((await guest.get('/v2/project')).body.id).toBe(home.project_id)
    expect((await guest.post('/v2/project/cap', { limit_usd: 1 })).status).toBe(403)
    expect((await guest.post('/auth/project', { project_id: guest.project_id })).status).toBe(200)
    expect((await guest.post('/v2/project/cap', { limit_usd: 1 })).status).toBe(200)

    const stranger = await owner()
    for (const project_id of [stranger.project_id, 'prj_unknown', 'a\0'])
      expect([400, 404]).toContain((await guest.post('/auth/project', { project_id })).status)
    expect((await browserOn(service()).post('/auth/project', { project_id: home.project_id })).status).toBe(401)
  })

  test('0356 a page of each project at once: the header says which, with the role there; of no other', async () => {
    const [home, guest, stranger] = [await owner(), await owner(), await owner()]
    await guest.post(ACCEPT, { token: (await invite(home, guest.email, 'viewer')).token })
    const about = (project_id: string) => ({ 'switchyard-project': project_id })
    const seen = async (project_id: string) => (await guest.get('/v2/project', about(project_id))).body.id
    expect([await seen(home.project_id), await seen(guest.project_id)]).toEqual([home.project_id, guest.project_id])
    expect((await guest.get('/v2/project')).body.id).toBe(guest.project_id) // nothing was chosen by that
    const cap = (project_id: string) => guest.post('/v2/project/cap', { limit_usd: 1 }, about(project_id))
    expect([(await cap(home.project_id)).status, (await cap(guest.project_id)).status]).toEqual([403, 200])

    for (const project_id of [stranger.project_id, 'prj_unknown', ''])
      expect((await guest.get('/v2/project', about(project_id))).status).toBe(401)
    expect((await cap(stranger.project_id)).status).toBe(401)
    expect((await stranger.get('/v2/project')).body.cap_micros).toBeUndefined()
    await home.del(`${MEMBERS}/${guest.person_id}`)
    expect((await guest.get('/v2/project', about(home.project_id))).status).toBe(401)
  })

  // Guards against whoever signs up first with an address that is not theirs, and waits for its owner to be invited.
  test('T-100 an account that nobody confirmed is the invited person’s, under their own password', async () => {
    const [home, email, stranger] = [await owner(), newEmail(), browserOn(service())]
    await stranger.post('/auth/signup', { email, password: 'known to the stranger' })
    expect((await stranger.post('/auth/login', { email, password: 'known to the stranger' })).status).toBe(200)
    const { token } = await invite(home, email)
    expect(identity(await browserOn(service()).post(ACCEPT, { token }))).toEqual(BAD)
    expect((await browserOn(service()).post(ACCEPT, { token, password: PASSWORD })).status).toBe(200)
    expect((await stranger.get('/auth/me')).status).toBe(401)
    expect((await stranger.post('/auth/login', { email, password: 'known to the stranger' })).status).toBe(401)
    const first_link = tokenIn(mails.find((mail) => mail.to === email))
    expect((await stranger.post('/auth/verify-email', { token: first_link })).status).toBe(400)
    expect((await browserOn(service()).post('/auth/login', { email, password: PASSWORD })).status).toBe(200)
  })

  test('R3 an invitation works once at a time, for 7 days, and not after it was replaced or withdrawn', async () => {
    const [home, email] = [await owner(), newEmail()]
    const first = await invite(home, email, 'viewer')
    const second = await invite(home, email, 'member')
    expect(await membersOf(home)).toEqual([
      [email, 'member', 'invited'],
      [home.email, 'owner', 'active'],
    ])
    const accept = (token: string) => browserOn(service()).post(ACCEPT, { token, password: PASSWORD })
    expect(identity(await accept(first.token))).toEqual(BAD)
    expect((await home.del(`${MEMBERS}/${second.answer.body.id}`)).status).toBe(200)
    expect(identity(await accept(second.token))).toEqual(BAD)

    const third = await invite(home, email)
    service().clock.advance(7 * 24 * HOUR_MS)
    expect(identity(await accept(third.token))).toEqual(BAD)
    const again = await home.post('/auth/login', { email: home.email, password: PASSWORD })
    expect(again.status).toBe(200)
    expect(await membersOf(home)).toEqual([[home.email, 'owner', 'active']])
    const fourth = await invite(home, email)
    const statuses = await Promise.all(Array.from({ length: 4 }, () => accept(fourth.token)))
    expect(statuses.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400])
  })

  describe('400, 403, 404', () => {
    test('R3 400 on a member, on the founder’s own role, on nonsense; nothing is stored', async () => {
      const home = await owner()
      const founder = `${MEMBERS}/${home.person_id}`
      for (const work of [
        () => home.post(INVITATIONS, { email: home.email, role: 'member' }),
        () => home.post(`${founder}/role`, { role: 'viewer' }),
        () => home.del(founder),
        () => home.post(INVITATIONS, { email: 'nobody', role: 'member' }),
        () => home.post(INVITATIONS, { email: newEmail(), role: 'king' }),
        () => home.post(INVITATIONS, { email: newEmail() }),
      ])
        expect(identity(await service().storingNothing(work))).toEqual(BAD)
    })

    test('§5.6 403 while the owner is not verified: nobody is written to on their behalf', async () => {
      const home = await newPerson(service(), mails, { verified: false })
      const answer = await service().storingNothing(() => home.post(INVITATIONS, { email: newEmail(), role: 'member' }))
      expect(answer.status).toBe(403)
    })

    test('§5.8 404 on members and invitations of other projects', async () => {
      const [home, other] = [await owner(), await owner()]
      const { answer } = await invite(other, newEmail())
      for (const id of [other.person_id, answer.body.id, 'usr_unknown']) {
        expect((await service().storingNothing(() => home.del(`${MEMBERS}/${id}`))).status).toBe(404)
        const change = () => home.post(`${MEMBERS}/${id}/role`, { role: 'viewer' })
        expect((await service().storingNothing(change)).status).toBe(404)
      }
    })

    test('§8 429 on the hundred and first mail of a project in a day, and on the sixth to one address', async () => {
      const { post } = await service().newProject()
      const email = newEmail()
      for (let n = 0; n < 5; n++) expect((await post(INVITATIONS, { email, role: 'viewer' })).status).toBe(200)
      const sixth = await service().storingNothing(() => post(INVITATIONS, { email, role: 'viewer' }))
      expect([sixth.status, sixth.headers['retry-after']]).toEqual([429, '86400'])
      const other = await service().newProject()
      for (let n = 0; n < 100; n++)
        expect((await other.post(INVITATIONS, { email: newEmail(), role: 'viewer' })).status).toBe(200)
      const last = await service().storingNothing(() => other.post(INVITATIONS, { email: newEmail(), role: 'viewer' }))
      expect([last.status, last.headers['retry-after']]).toEqual([429, '86400'])
    })

    test('R78 one project’s invitations to an address leave room for another’s; all together are bounded too', async () => {
      const email = newEmail()
      const inviteBy = async (home: Pick<Owner, 'post'>) =>
        (await home.post(INVITATIONS, { email, role: 'viewer' })).status
      const flood = await service().newProject()
      for (let n = 0; n < 6; n++) await inviteBy(flood)
      const others = []
      for (let n = 0; n < 15; n++) others.push(await inviteBy(await service().newProject()))
      expect(others).toEqual(others.map(() => 200))
      const late = await service().newProject()
      const refused = await service().storingNothing(() => late.post(INVITATIONS, { email, role: 'viewer' }))
      expect([refused.status, refused.body.error.message]).toEqual([
        429,
        expect.stringContaining('at most 20 in a day'),
      ])
      service().clock.advance(24 * HOUR_MS)
      expect(await inviteBy(late)).toBe(200)
    })

    test('R78 invitations that are sent and withdrawn count as mails of the project, and another’s do not', async () => {
      const [home, other] = [await service().newProject(), await service().newProject()]
      const sent: number[] = []
      for (let n = 0; n < 101; n++) {
        const { status, body } = await home.post(INVITATIONS, { email: newEmail(), role: 'viewer' })
        sent.push(status)
        if (status === 200) await home.send('DELETE', `${MEMBERS}/${body.id}`)
      }
      expect([sent.filter((status) => status === 200).length, sent.at(-1)]).toEqual([100, 429])
      const refused = await service().storingNothing(() =>
        home.post(INVITATIONS, { email: newEmail(), role: 'viewer' }),
      )
      expect([refused.status, refused.headers['retry-after']]).toEqual([429, '86400'])
      expect((await other.post(INVITATIONS, { email: newEmail(), role: 'viewer' })).status).toBe(200)
    })

    test('§5.8 planted: a member who is looked for in every project is caught', async () => {
      const tampering: Tampering = {}
      const watch = watched({ tampering })
      const broken = await startService(watch.options)
      const [home, other] = [await newPerson(broken, watch.mails), await newPerson(broken, watch.mails)]
      mutateSql(tampering, 'm.project_id = ', "'' <> ", /o\.owner_id FROM membership/)
      expect((await home.post(`${MEMBERS}/${other.person_id}/role`, { role: 'viewer' })).status).not.toBe(404)
    })
  })
}, options)
