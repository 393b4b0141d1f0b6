// §5.9, 0340: sign in with one's own identity provider: who gets in, as whom, with which roles, and who does not.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ownerLinkStore } from '../../src/accounts/owner-link-store.ts'
import type { IssuerSettings } from '../../src/accounts/sign-in-settings.ts'
import { HOUR_MS, MINUTE_MS } from '../../src/core/clock.ts'
import { sql } from '../../src/storage/db.ts'
import {
  type Browser,
  browserOn,
  newEmail,
  newPerson,
  PASSWORD,
  settle,
  tokenIn,
  watched,
  withoutEdge,
} from '../support/browser.ts'
import { CLIENT_ID, type Forged, type Forging, forgedIssuer } from '../support/forged-issuer.ts'
import { type Answer, type TestService, withService } from '../support/service.ts'
import { mutateSql } from '../support/tampered-db.ts'

const settings = withoutEdge()
const { mails, options } = watched({ tampering: {}, parts: { settings, sign_up: 'invited' } })

let forge: Forging
let people = 0
const newSubject = () => `subject-${++people}`
const verified = (email: string) => ({ email, email_verified: true })
const said = ({ status, body }: Answer) => [status, body?.error?.message]

beforeAll(async () => {
  forge = await forgedIssuer()
})
afterAll(() => forge.stop())

/** The issuers of the service, as if its file said so now. */
function configure(...issuers: Partial<IssuerSettings>[]): void {
  const usual = {
    id: 'corp',
    name: 'Corp',
    issuer: forge.issuer,
    client_id: CLIENT_ID,
    client_secret: 'a secret',
    scopes: ['openid', 'email'],
    domains: [],
    email_verified_claim: 'email_verified',
    roles: [],
    sign_out: 'issuer' as const,
  }
  Object.assign(settings.sign_in, { issuers: issuers.map((one) => ({ ...usual, ...one })) })
  forge.state.discovery = {}
  forge.state.answer = undefined
}

/** To the issuer and back: what the issuer says is forged. */
async function signIn(at: Browser, forged: Forged, { to = '/keys', id = 'corp' }: { to?: string; id?: string } = {}) {
  const begun = await at.get(`/auth/oidc/${id}/start?to=${encodeURIComponent(to)}`)
  if (begun.status !== 302) return begun
  const address = new URL(String(begun.headers.location))
  forge.state.nonce = address.searchParams.get('nonce') ?? ''
  forge.state.forged = { ...forged, claims: { sub: newSubject(), ...forged.claims } }
  return at.get(callback(address, id))
}

const callback = (address: URL, id = 'corp') =>
  `/auth/oidc/${id}/callback?code=a-code&state=${encodeURIComponent(address.searchParams.get('state') ?? '')}`

withService((service) => {
  const stored = async (of: TestService = service()) => ({
    people: await of.db.rows(sql`SELECT id, email FROM person ORDER BY id`),
    identities: await of.db.rows(sql`SELECT id FROM person_identity ORDER BY id`),
    sessions: await of.db.rows(sql`SELECT id FROM sign_in ORDER BY id`),
    memberships: await of.db.rows(
      sql`SELECT project_id, person_id, role FROM membership ORDER BY project_id, person_id`,
    ),
  })
  const roleFor = async (role: IssuerSettings['roles'][number]['role'], value: string = role) => {
    const { project } = await service().newProject()
    return { claim: 'groups', value, project: project.id, role }
  }
  /** A refusal: nobody is signed in, and no account, link or membership was made or changed. */
  async function refused(work: () => Promise<Answer>) {
    const before = await stored()
    const answer = await work()
    expect(await stored()).toEqual(before)
    return said(answer)
  }

  describe('§5.9 the way there and back', () => {
    test('§5.9 who has a role by their claims is signed in, on the page they wanted; on record in their project', async () => {
      const role = await roleFor('member')
      configure({ roles: [role] })
      const at = browserOn(service())
      const email = newEmail()
      const begun = await at.get('/auth/oidc/corp/start?to=/keys%3Fa%3D1')
      const address = new URL(String(begun.headers.location))
      expect(Object.fromEntries(address.searchParams)).toEqual({
        client_id: CLIENT_ID,
        response_type: 'code',
        redirect_uri: 'http://localhost/auth/oidc/corp/callback',
        scope: 'openid email',
        code_challenge: expect.stringMatching(/^[\w-]{43}$/),
        code_challenge_method: 'S256',
        state: expect.any(String),
        nonce: expect.stringMatching(/^[\w-]{43}$/),
      })
      expect(String(begun.headers['set-cookie'])).toMatch(
        /^switchyard-issuer=\w{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600$/,
      )
      forge.state.nonce = address.searchParams.get('nonce') ?? ''
      forge.state.forged = { claims: { sub: newSubject(), ...verified(email.toUpperCase()), groups: ['x', 'member'] } }
      const back = await at.get(callback(address))
      expect([back.status, back.headers.location]).toEqual([302, '/console/keys?a=1'])
      expect(back.headers['set-cookie']).toContainEqual(expect.stringMatching(/^switchyard-issuer=; .*Max-Age=0/))
      const me = (await at.get('/auth/me')).body
      expect(me.person).toMatchObject({ email, email_verified: true })
      expect(me.projects).toMatchObject([{ id: role.project, role: 'member' }])
      const log = await service().db.rows(sql`
        SELECT actor, action, target FROM audit_entry WHERE project_id = ${role.project} ORDER BY sequence`)
      const { id } = me.person
      expect(log).toEqual([
        { actor: id, action: 'role by claims: member', target: id },
        { actor: id, action: 'GET /auth/oidc/{issuer_id}/callback', target: id },
      ])
    })

    test('§5.9 the issuers are listed for the buttons, with nothing but their names', async () => {
      configure({ name: 'Acme' }, { id: 'other', issuer: 'https://other.example' })
      const { body } = await browserOn(service()).get('/auth/issuers')
      const sign_in_path = '/auth/oidc/corp/start'
      expect(body.data[0]).toEqual({ id: 'corp', object: 'issuer', name: 'Acme', sign_in_path })
      expect(body.data).toHaveLength(2)
      expect(JSON.stringify(body)).not.toContain('secret')
    })

    test('§5.9 claims that the ID token leaves out are asked for at the user info, of the same person alone', async () => {
      configure({ roles: [await roleFor('viewer')] })
      const user_info = { sub: 'someone', ...verified(newEmail()), groups: 'viewer' }
      const at = browserOn(service())
      const claims = { sub: 'someone' }
      expect((await signIn(at, { claims, user_info })).status).toBe(302)
      const other = await refused(() => signIn(browserOn(service()), { claims: { sub: 'another' }, user_info }))
      expect(other[0]).toBe(401)
    })

    test('§5.9 400 where the page to go on to is none of the console’s; nothing is stored', async () => {
      configure({})
      for (const to of ['//evil.example', 'https://evil.example', '/\\evil.example', '/a b', '/ü'])
        expect((await service().storingNothing(() => signIn(browserOn(service()), {}, { to }))).status, to).toBe(400)
    })

    test('§5.9 an unknown issuer is 404, and nothing is stored; a browser is led to a page that says so', async () => {
      configure({})
      const at = browserOn(service())
      for (const path of ['start', 'callback?code=a&state=b']) {
        const answer = await service().storingNothing(() => at.get(`/auth/oidc/nobody/${path}`))
        expect(said(answer)).toEqual([404, 'There is no such identity provider here.'])
        const page = await at.get(`/auth/oidc/nobody/${path}`, { accept: 'text/html,application/xml;q=0.9,*/*;q=0.8' })
        expect([page.status, page.headers.location]).toEqual([302, '/console/sign-in?problem=unknown_issuer'])
      }
    })
  })

  describe('§5.9 what an issuer says is checked', () => {
    const now_s = () => Math.floor(service().clock.now() / 1_000)
    const CASES: [string, () => Forged, string][] = [
      ['an expired token', () => ({ claims: { exp: now_s() - 61, iat: now_s() - 400 } }), 'has expired'],
      ['a wrong nonce', () => ({ claims: { nonce: 'of-another-sign-in' } }), 'is of another sign-in'],
      ['no nonce', () => ({ claims: { nonce: undefined } }), 'not good for this server'],
      ['a wrong audience', () => ({ claims: { aud: 'another-client' } }), 'not good for this server'],
      ['a wrong issuer', () => ({ claims: { iss: 'https://evil.example' } }), 'not good for this server'],
      ['no subject', () => ({ claims: { sub: undefined } }), 'not good for this server'],
      ['a subject of any length', () => ({ claims: { sub: 'x'.repeat(256) } }), 'not good for this server'],
      ['a stranger’s signature', () => ({ by_stranger: true }), 'not good for this server'],
      ['no signature', () => ({ header: { alg: 'none' } }), 'not good for this server'],
      ['a code that was used before', () => ({ refusal: 'invalid_grant' }), 'was used before'],
    ]
    test.each(CASES)('§5.9 401 on %s; nobody is signed in, nothing is made', async (_what, forged, message) => {
      configure({ roles: [await roleFor('member')] })
      const { claims, ...more } = forged()
      const email = newEmail()
      const known = { ...verified(email), groups: 'member' }
      const at = browserOn(service())
      const answer = await refused(() => signIn(at, { ...more, claims: { ...known, ...claims } }))
      expect(answer).toEqual([401, expect.stringContaining(message)])
      expect((await at.get('/auth/me')).status).toBe(401)
      expect((await signIn(at, { claims: known })).status).toBe(302) // the very same, said well
    })

    test('§5.9 an error that the issuer sends back is told, and asks the issuer for nothing', async () => {
      configure({})
      const at = browserOn(service())
      const address = new URL(String((await at.get('/auth/oidc/corp/start')).headers.location))
      const before = forge.asked.length
      const answer = await refused(() => at.get(callback(address).replace('code=a-code', 'error=access_denied')))
      expect(answer).toEqual([401, 'The identity provider did not sign you in.'])
      expect(forge.asked.slice(before)).toEqual([])
    })

    test('§8 at most 5 such failures from an address in 10 minutes; who is refused for want of a role counts for none', async () => {
      configure({})
      const at = browserOn(service())
      for (let n = 0; n < 7; n++) expect((await signIn(at, { claims: verified(newEmail()) })).status).toBe(403)
      for (let n = 0; n < 5; n++) expect((await signIn(at, { claims: { nonce: 'x' } })).status).toBe(401)
      const { status, headers } = await signIn(at, { claims: verified(newEmail()) })
      expect([status, Number(headers['retry-after'])]).toEqual([429, 600])
      expect((await signIn(browserOn(service()), { claims: { nonce: 'x' } })).status).toBe(401)
    })
  })

  describe('§5.9 only the browser that began a sign-in finishes it, once', () => {
    async function begun(at: Browser) {
      const address = new URL(String((await at.get('/auth/oidc/corp/start')).headers.location))
      forge.state.nonce = address.searchParams.get('nonce') ?? ''
      forge.state.forged = { claims: { sub: newSubject(), ...verified(newEmail()), groups: 'member' } }
      return address
    }

    test('§5.9 401 without its cookie, with another’s, with a state of one’s own making, and for another issuer', async () => {
      configure({ roles: [await roleFor('member')] }, { id: 'other', issuer: 'https://other.example' })
      const [at, other] = [browserOn(service()), browserOn(service())]
      const address = await begun(at)
      await other.get('/auth/oidc/corp/start')
      const before = forge.asked.length
      const tries: [Browser, string][] = [
        [browserOn(service()), callback(address)],
        [other, callback(address)],
        [at, callback(address).replace(/state=./, (own) => (own === 'state=_' ? 'state=-' : 'state=_'))],
        [at, '/auth/oidc/corp/callback?code=a-code'],
        [at, callback(address, 'other')],
      ]
      for (const [browser, url] of tries) {
        const answer = await refused(() => browser.get(url))
        expect(answer, url).toEqual([401, expect.stringContaining('was not begun in this browser')])
      }
      expect(forge.asked.slice(before)).toEqual([])
      expect((await at.get(callback(address))).status).toBe(302)
    })

    test('§5.9 a way back that is taken twice works once, also at the same moment, and asks the issuer once', async () => {
      configure({ roles: [await roleFor('member')] })
      const at = browserOn(service())
      const address = await begun(at)
      const cookie = [...at.jar.others.values()].join('; ')
      const before = forge.asked.length
      const answers = await Promise.all(Array.from({ length: 5 }, () => at.get(callback(address), { cookie })))
      expect(answers.map(({ status }) => status).sort()).toEqual([302, 401, 401, 401, 401])
      expect((await refused(() => at.get(callback(address), { cookie })))[0]).toBe(401)
      expect(forge.asked.slice(before).filter((one) => one === 'POST /token')).toHaveLength(1)
      expect(await service().db.rows(sql`SELECT hash FROM used_state`)).not.toEqual([])
      service().clock.advance(10 * MINUTE_MS)
      await service().housekeep('sweep accounts')
      expect(await service().db.rows(sql`SELECT hash FROM used_state`)).toEqual([])
    })

    test('§5.9 planted: a state that is not written down is caught', async () => {
      configure({ roles: [await roleFor('member')] })
      const at = browserOn(service())
      const address = await begun(at)
      const cookie = [...at.jar.others.values()].join('; ')
      const again = 'DO UPDATE SET expires_at = excluded.expires_at'
      const mutant = mutateSql(service().tampering, 'DO NOTHING', again, /INTO used_state/)
      const answers = [await at.get(callback(address), { cookie }), await at.get(callback(address), { cookie })]
      service().tampering.rows = undefined
      expect([mutant.changed() > 0, ...answers.map(({ status }) => status)]).toEqual([true, 302, 302])
    })

    test('§5.9 within 10 minutes, and not a moment later', async () => {
      configure({ roles: [await roleFor('member')] })
      const [soon, late] = [browserOn(service()), browserOn(service())]
      const addresses = [await begun(late), await begun(soon)] as const
      service().clock.advance(10 * MINUTE_MS - 1)
      expect((await soon.get(callback(addresses[1]))).status).toBe(302)
      service().clock.advance(1)
      expect((await refused(() => late.get(callback(addresses[0]))))[0]).toBe(401)
    })
  })

  describe('§5.9 whose account it is', () => {
    const corp = () => `corp${++people}.example`

    test('§5.9 403 on an address that is not verified, or none at all; nothing is made', async () => {
      configure({ roles: [await roleFor('member')], domains: ['trusted.example'] })
      const email = `a${++people}@trusted.example`
      for (const claims of [
        { email },
        { email, email_verified: false },
        { email, email_verified: 'no' },
        {},
        { email: 'no address', email_verified: true },
      ]) {
        const answer = await refused(() => signIn(browserOn(service()), { claims: { ...claims, groups: 'member' } }))
        expect(answer, JSON.stringify(claims)).toEqual([403, expect.stringContaining('is verified')])
      }
    })

    test('§5.9 which claim says that an address is verified can be set, for issuers with another', async () => {
      configure({ roles: [await roleFor('member')], email_verified_claim: 'xms_edov' })
      const claims = { email: newEmail(), groups: 'member' }
      expect((await signIn(browserOn(service()), { claims: { ...claims, email_verified: true } })).status).toBe(403)
      expect((await signIn(browserOn(service()), { claims: { ...claims, xms_edov: '1' } })).status).toBe(302)
    })

    test('§5.9 an account with the address is opened only by an issuer that is trusted for its domain; on record', async () => {
      const domain = corp()
      configure({})
      const person = await newPerson(service(), mails, { email: `ada@${domain}` }).catch(() => undefined)
      expect(person).toBeUndefined() // sign-up is closed here
      const { project } = await service().newProject()
      await service().db.rows(sql`UPDATE person SET email = ${`ada@${domain}`} WHERE id = ${project.owner_id}`)
      const claims = { sub: newSubject(), ...verified(`ada@${domain}`) }
      const answer = await refused(() => signIn(browserOn(service()), { claims }))
      expect(answer).toEqual([403, expect.stringContaining('not trusted for its domain')])
      configure({ domains: [domain] })
      const at = browserOn(service())
      expect((await signIn(at, { claims })).status).toBe(302)
      expect((await at.get('/auth/me')).body.person.id).toBe(project.owner_id)
      const log = await service().db.rows<{ action: string; target: string }>(sql`
        SELECT action, target FROM audit_entry WHERE project_id = ${project.id} ORDER BY sequence`)
      expect(log).toEqual([
        { action: 'link identity', target: expect.stringMatching(/^idn_/) },
        { action: 'GET /auth/oidc/{issuer_id}/callback', target: project.owner_id },
      ])
    })

    test('§5.9 once linked it is who they are at the issuer that counts: no address, changed or another’s, changes that', async () => {
      const domain = corp()
      configure({ roles: [await roleFor('member')], domains: [domain] })
      const sub = newSubject()
      const first = browserOn(service())
      await signIn(first, { claims: { sub, ...verified(`one@${domain}`), groups: 'member' } })
      const { id } = (await first.get('/auth/me')).body.person
      const again = browserOn(service())
      await signIn(again, { claims: { sub, email: `two@${domain}`, groups: 'member' } })
      expect((await again.get('/auth/me')).body.person).toMatchObject({ id, email: `one@${domain}` })
      const other = browserOn(service())
      await signIn(other, { claims: { ...verified(`two@${domain}`), groups: 'member' } })
      expect((await other.get('/auth/me')).body.person.id).not.toBe(id)
    })

    test('T-100 an account that a stranger opened with the address, and nobody confirmed, stays the stranger’s, without it', async () => {
      const domain = corp()
      configure({ domains: [domain], roles: [await roleFor('member')] })
      const { project } = await service().newProject({ verified: false })
      const stranger = project.owner_id
      await service().db.rows(sql`
        UPDATE person SET email = ${`eve@${domain}`}, password_hash = 'x' WHERE id = ${stranger}`)
      const at = browserOn(service())
      await signIn(at, { claims: { ...verified(`eve@${domain}`), groups: 'member' } })
      const { person, projects } = (await at.get('/auth/me')).body
      expect(person.id).not.toBe(stranger)
      expect(projects.map((one: { id: string }) => one.id)).not.toContain(project.id)
    })

    test('§5.9 403 where sign-up is closed and no role, no invitation gives an account; with an invitation, there is one', async () => {
      configure({})
      const email = newEmail()
      const answer = await refused(() => signIn(browserOn(service()), { claims: verified(email) }))
      expect(answer).toEqual([403, expect.stringContaining('Ask for an invitation')])
      const home = await service().newProject()
      await home.post('/v2/members/invitations', { email, role: 'viewer' })
      const at = browserOn(service())
      expect((await signIn(at, { claims: verified(email) })).status).toBe(302)
      expect((await at.get('/auth/me')).body.projects).toEqual([])
      await settle(service())
      const token = tokenIn(mails.findLast((mail) => mail.to === email))
      expect((await at.post('/auth/accept-invitation', { token })).body).toMatchObject({ role: 'viewer', email })
      expect((await at.get('/auth/me')).body.projects).toHaveLength(1)
    })
  })

  describe('§5.9 domains that must use their issuer', () => {
    test('§5.9 no password for them: not to log in, sign up, reset or take a project over; the same for all', async () => {
      const { project } = await service().newProject()
      await service().db.rows(sql`
        UPDATE person SET email = 'known@bound.example', password_hash = 'x' WHERE id = ${project.owner_id}`)
      configure({ domains: ['bound.example'], name: 'Acme' })
      const bytes = new Set<string>()
      for (const email of ['known@bound.example', 'nobody@BOUND.example'])
        for (const path of ['login', 'password-reset']) {
          const at = browserOn(service())
          const answer = await service().storingNothing(() => at.post(`/auth/${path}`, { email, password: PASSWORD }))
          expect(said(answer)).toEqual([403, expect.stringContaining('sign in with Acme')])
          bytes.add(answer.bytes.toString())
        }
      expect(bytes.size).toBe(1)
    })

    test('§5.9 a reset that was mailed before is void, and a session is not begun by confirming an address', async () => {
      configure({})
      const { project } = await service().newProject()
      const email = `late${++people}@later.example`
      await service().db.rows(sql`UPDATE person SET email = ${email} WHERE id = ${project.owner_id}`)
      const at = browserOn(service())
      await at.post('/auth/password-reset', { email })
      await settle(service())
      const token = tokenIn(mails.findLast((mail) => mail.to === email))
      configure({ domains: ['later.example'] })
      const confirm = () => at.post('/auth/password-reset/confirm', { token, password: PASSWORD })
      expect((await service().storingNothing(confirm)).status).toBe(403)
    })

    test('§5.9 another issuer does not sign them in, be they linked there or not', async () => {
      const role = await roleFor('member')
      configure({ roles: [role] })
      const claims = { sub: newSubject(), ...verified('some@moved.example'), groups: 'member' }
      expect((await signIn(browserOn(service()), { claims })).status).toBe(302)
      configure({ roles: [role] }, { id: 'other', issuer: 'https://other.example', domains: ['moved.example'] })
      for (const sub of [claims.sub, newSubject()]) {
        const answer = await refused(() => signIn(browserOn(service()), { claims: { ...claims, sub } }))
        expect(answer).toEqual([403, expect.stringContaining('another identity provider')])
      }
    })

    test('§5.9 an invitation of theirs needs no password, and none is kept', async () => {
      configure({ domains: ['joins.example'] })
      const home = await service().newProject()
      await home.post('/v2/members/invitations', { email: 'new@joins.example', role: 'member' })
      await settle(service())
      const token = tokenIn(mails.findLast((mail) => mail.to === 'new@joins.example'))
      const at = browserOn(service())
      expect((await at.post('/auth/accept-invitation', { token, password: PASSWORD })).status).toBe(200)
      const kept = await service().db.rows(sql`SELECT password_hash FROM person WHERE email = 'new@joins.example'`)
      expect(kept).toEqual([{ password_hash: null }])
      await signIn(at, { claims: verified('new@joins.example') })
      expect((await at.get('/auth/me')).body.projects).toMatchObject([{ id: home.project.id, role: 'member' }])
    })
  })

  describe('R3 roles by claims', () => {
    test('R3 the highest counts, by each project; claims may lie deep; what they no longer give is gone at the next sign-in', async () => {
      const { project: one } = await service().newProject()
      const { project: two } = await service().newProject()
      const by = (value: string, project: string, role: 'owner' | 'member' | 'viewer') => ({
        claim: 'realm.roles',
        value,
        project,
        role,
      })
      configure({
        roles: [
          by('a', one.id, 'viewer'),
          by('b', one.id, 'owner'),
          by('b', two.id, 'member'),
          by('c', 'prj_nowhere', 'owner'),
        ],
      })
      const sub = newSubject()
      const rolesWith = async (...roles: string[]) => {
        const at = browserOn(service())
        await signIn(at, { claims: { sub, ...verified('deep@example.com'), realm: { roles } } })
        const { projects } = (await at.get('/auth/me')).body
        return Object.fromEntries(projects.map(({ id, role }: { id: string; role: string }) => [id, role]))
      }
      expect(await rolesWith('a', 'b', 'c')).toEqual({ [one.id]: 'owner', [two.id]: 'member' })
      expect(await rolesWith('a')).toEqual({ [one.id]: 'viewer' })
      expect(await rolesWith()).toEqual({})
      const log = await service().db.rows<{ action: string }>(sql`
        SELECT action FROM audit_entry WHERE project_id = ${one.id} AND action LIKE 'role%' ORDER BY sequence`)
      expect(log.map(({ action }) => action)).toEqual(
        ['owner', 'viewer', 'none'].map((role) => `role by claims: ${role}`),
      )
    })

    test('R3 what a person gave stays: by an invitation, or by changing what claims gave', async () => {
      const home = await service().newProject()
      const role = { claim: 'groups', value: 'g', project: home.project.id, role: 'viewer' as const }
      configure({ roles: [role] })
      const claims = { sub: newSubject(), ...verified(newEmail()), groups: 'g' }
      const at = browserOn(service())
      await signIn(at, { claims })
      const { id } = (await at.get('/auth/me')).body.person
      expect((await home.post(`/v2/members/${id}/role`, { role: 'member' })).status).toBe(200)
      for (const groups of ['g', 'none']) await signIn(at, { claims: { ...claims, groups } })
      expect((await at.get('/auth/me')).body.projects).toMatchObject([{ id: home.project.id, role: 'member' }])
    })

    test('R70 whom claims no longer let in leaves no saved view behind, which nobody else could delete', async () => {
      const role = await roleFor('member')
      configure({ roles: [role] })
      const claims = { sub: newSubject(), ...verified(newEmail()), groups: 'member' }
      const at = browserOn(service())
      const left: number[] = []
      for (const groups of ['member', 'member', 'none']) {
        await signIn(at, { claims: { ...claims, groups } })
        await at.post('/v2/saved-views', { page: 'usage', name: 'mine', query: '' })
        const views = await service().db.rows(sql`SELECT id FROM saved_view WHERE project_id = ${role.project}`)
        left.push(views.length)
      }
      expect(left).toEqual([1, 1, 0])
    })

    test('R3 0160 who became owner by the owner link stays it, whatever claims give or gave before', async () => {
      const home = await service().newProject()
      const role = { claim: 'groups', value: 'g', project: home.project.id, role: 'viewer' as const }
      configure({ roles: [role] })
      const claims = { sub: newSubject(), ...verified(newEmail()), groups: 'g' }
      const at = browserOn(service())
      await signIn(at, { claims })
      const { secret } = await ownerLinkStore(service().db).mint(home.project.id, service().clock.now())
      const roles = async () => (await at.get('/auth/me')).body.projects.map((one: { role: string }) => one.role)
      expect((await at.post('/auth/become-owner', { token: secret })).status).toBe(200)
      const held: string[][] = []
      for (const groups of ['g', 'none']) {
        await signIn(at, { claims: { ...claims, groups } })
        held.push(await roles())
      }
      expect(held).toEqual([['owner'], ['owner']])
    })

    test('R3 whose project it is by its row stays the owner, though the role is said to be by claims', async () => {
      const home = await service().newProject()
      const role = { claim: 'groups', value: 'g', project: home.project.id, role: 'viewer' as const }
      configure({ roles: [role] })
      const claims = { sub: newSubject(), ...verified(newEmail()), groups: 'g' }
      const at = browserOn(service())
      await signIn(at, { claims })
      const { id } = (await at.get('/auth/me')).body.person
      // As the owner link left it before.
      await service().db.rows(sql`UPDATE membership SET role = 'owner' WHERE person_id = ${id}`)
      await service().db.rows(sql`UPDATE project SET owner_id = ${id} WHERE id = ${home.project.id}`)
      for (const groups of ['g', 'none']) {
        await signIn(at, { claims: { ...claims, groups } })
        expect((await at.get('/auth/me')).body.projects).toMatchObject([{ id: home.project.id, role: 'owner' }])
      }
    })

    test('R3 the default is for those whom nothing else gives a role', async () => {
      const [{ project: one }, { project: two }] = [await service().newProject(), await service().newProject()]
      const role = { claim: 'groups', value: 'g', project: one.id, role: 'owner' as const }
      configure({ roles: [role], default_role: { project: two.id, role: 'viewer' } })
      const projectsWith = async (groups: string) => {
        const at = browserOn(service())
        await signIn(at, { claims: { ...verified(newEmail()), groups } })
        return (await at.get('/auth/me')).body.projects.map((project: { id: string }) => project.id)
      }
      expect([await projectsWith('g'), await projectsWith('x')]).toEqual([[one.id], [two.id]])
    })
  })

  describe('§5.9 an issuer that is away', () => {
    const AWAY = [503, 'The identity provider cannot be reached. Try again in a moment.']

    test('§5.9 503, nothing is stored, and it works again as soon as the issuer does', async () => {
      configure({ id: 'away', roles: [await roleFor('member')] })
      await forge.away()
      const at = browserOn(service())
      expect(said(await service().storingNothing(() => signIn(at, {}, { id: 'away' })))).toEqual(AWAY)
      const page = await at.get('/auth/oidc/away/start', { accept: 'text/html' })
      expect(page.headers.location).toBe('/console/sign-in?problem=issuer_away')
      await forge.back()
      service().clock.advance(5_000)
      const claims = { ...verified(newEmail()), groups: 'member' }
      expect((await signIn(at, { claims }, { id: 'away' })).status).toBe(302)
    })

    test('§5.9 away between the way there and back: 503, and no attempt is counted', async () => {
      configure({ id: 'between' })
      const at = browserOn(service())
      const address = new URL(String((await at.get('/auth/oidc/between/start')).headers.location))
      await forge.away()
      expect(await refused(() => at.get(callback(address, 'between')))).toEqual(AWAY)
      await forge.back()
      expect(
        await service().db.rows(sql`SELECT slot FROM attempt_slot WHERE bucket = ${`issuer login ${at.address}`}`),
      ).toEqual([])
    })

    test('§5.9 what was discovered is asked for once an hour, and used on while the issuer is away', async () => {
      configure({ id: 'hourly' })
      const at = browserOn(service())
      const discoveries = async () => {
        const before = forge.asked.length
        expect((await at.get('/auth/oidc/hourly/start')).status).toBe(302)
        return forge.asked.slice(before).length
      }
      expect([await discoveries(), await discoveries()]).toEqual([1, 0])
      service().clock.advance(HOUR_MS)
      await forge.away()
      expect(await discoveries()).toBe(0)
      await forge.back()
      service().clock.advance(5_000)
      expect(await discoveries()).toBe(1)
    })

    test.each([
      ['is no JSON', () => ({ body: '<html>', type: 'text/html' })],
      ['is of another issuer', () => ({ body: { issuer: 'https://evil.example' } })],
      ['is a redirect', () => ({ status: 302, body: {} })],
      ['is too long', () => ({ body: { issuer: forge.issuer, more: 'x'.repeat(600_000) } })],
    ])('R77 503 where its discovery %s', async (what, answer) => {
      configure({ id: `odd-${what.replace(/\W/g, '-')}` })
      forge.state.answer = answer
      const { status } = await browserOn(service()).get(`/auth/oidc/odd-${what.replace(/\W/g, '-')}/start`)
      expect(status).toBe(503)
    })

    test('R12 an address elsewhere that it names is not dialled in a private network', async () => {
      configure({ id: 'elsewhere' })
      forge.state.discovery = { token_endpoint: `${forge.issuer.replace('127.0.0.1', 'localhost')}/token` }
      const at = browserOn(service())
      const address = new URL(String((await at.get('/auth/oidc/elsewhere/start')).headers.location))
      expect(await refused(() => at.get(callback(address, 'elsewhere')))).toEqual(AWAY)
      expect(forge.asked.at(-1)).not.toBe('POST /token')
    })
  })

  describe('§5.9 sign-out and how long a session lasts', () => {
    async function signedIn(issuer: Partial<IssuerSettings> = {}) {
      configure({ roles: [await roleFor('member')], ...issuer })
      const at = browserOn(service())
      await signIn(at, { claims: { ...verified(newEmail()), groups: 'member' } }, issuer)
      expect((await at.get('/v2/project')).status).toBe(200)
      return at
    }

    test('§5.9 it ends here, and tells where it ends at the issuer; the ID token lies sealed until then', async () => {
      const at = await signedIn()
      const rows = JSON.stringify(await service().db.rows(sql`SELECT * FROM sign_in`))
      const { body } = await at.post('/auth/logout')
      const url = new URL(body.sign_out_url)
      expect(`${url.origin}${url.pathname}`).toBe(`${forge.issuer}/logout`)
      expect(Object.fromEntries(url.searchParams)).toEqual({
        client_id: CLIENT_ID,
        post_logout_redirect_uri: 'http://localhost/console/sign-in',
        id_token_hint: expect.stringMatching(/^ey[\w-]+\.[\w-]+\.[\w-]+$/),
      })
      expect(rows).not.toContain(url.searchParams.get('id_token_hint'))
      expect((await at.get('/auth/me')).status).toBe(401)
    })

    test('§5.9 here alone, where it is set so, or the issuer has no such place', async () => {
      const local = await signedIn({ sign_out: 'local' })
      expect((await local.post('/auth/logout')).body).toEqual({ object: 'session.ended', ended: true })
      const bare = await signedIn({ id: 'bare' })
      forge.state.discovery = { end_session_endpoint: undefined }
      service().clock.advance(HOUR_MS)
      expect((await bare.post('/auth/logout')).body).toEqual({ object: 'session.ended', ended: true })
    })

    test('T-101 a session ends when it was idle for too long, and at its greatest age however much it is used', async () => {
      const before = settings.sign_in.session
      Object.assign(settings.sign_in, { session: { idle_ms: HOUR_MS, lifetime_ms: 3 * HOUR_MS } })
      try {
        const { clock } = service()
        const [idle, busy] = [await signedIn(), await signedIn()]
        const use = async (at: Browser) => (await at.get('/v2/project')).status
        clock.advance(HOUR_MS - 1)
        expect(await use(busy)).toBe(200)
        clock.advance(1)
        expect([await use(idle), await use(busy)]).toEqual([401, 200])
        for (let n = 0; n < 3; n++) {
          clock.advance(40 * MINUTE_MS - 1)
          expect(await use(busy)).toBe(n < 3 ? 200 : 401)
        }
        clock.advance(4)
        expect(await use(busy)).toBe(401)
        // Shorter limits hold for sessions that are there, too.
        const old = await signedIn()
        clock.advance(50 * MINUTE_MS)
        Object.assign(settings.sign_in, { session: { idle_ms: HOUR_MS, lifetime_ms: 30 * MINUTE_MS } })
        expect(await use(old)).toBe(401)
      } finally {
        Object.assign(settings.sign_in, { session: before })
      }
    })
  })
}, options)
