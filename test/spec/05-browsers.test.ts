// §5, R3, T-101, T-102: what a signed-in browser may do, and what nobody may make it do.
import { describe, expect, test } from 'vitest'
import { ROLES, type Role } from '../../src/accounts/roles.ts'
import { HOUR_MS } from '../../src/core/clock.ts'
import { parseCidr } from '../../src/core/ip-address.ts'
import { SCOPES } from '../../src/core/scopes.ts'
import { sql } from '../../src/storage/db.ts'
import { browserOn, newPerson, PASSWORD, watched, withoutEdge } from '../support/browser.ts'
import { isOperators, scopeByRuling, walkOf } from '../support/routes.ts'
import { type Answer, startService, type TestService, withService } from '../support/service.ts'
import { mutateSql, type Tampering } from '../support/tampered-db.ts'

const DAY_MS = 24 * HOUR_MS
const identity = ({ status, body }: Answer) => [status, body.error?.type, body.error?.code]
const FORBIDDEN = [403, 'insufficient_scope', 'insufficient_scope']
const CLUSTERS = '/v2/byoc/clusters'
const atlas = { name: 'atlas', region: 'eu' }

const { mails, options } = watched()

withService((service) => {
  const owner = () => newPerson(service(), mails)
  const memberWith = async (role: Role, of = service(), letters = mails) => {
    const person = await newPerson(of, letters)
    await of.db.rows(sql`UPDATE membership SET role = ${role} WHERE person_id = ${person.person_id}`)
    return person
  }

  describe('T-101 the cookie', () => {
    const attributes = (answer: Answer) => {
      const [pair = '', ...rest] = String(answer.headers['set-cookie']).split('; ')
      return [pair.replace(/=\w{43}$/, '=…'), ...rest]
    }
    const logIn = (at: ReturnType<typeof browserOn>, email: string, headers?: Record<string, string>) =>
      at.post('/auth/login', { email, password: PASSWORD }, headers)

    test('T-101 over plain HTTP it has its plain name, whatever a client says of TLS', async () => {
      const { email } = await owner()
      const expected = ['switchyard=…', 'Path=/', 'HttpOnly', 'SameSite=Lax', 'Max-Age=1209600']
      expect(attributes(await logIn(browserOn(service()), email))).toEqual(expected)
      const claim = { 'x-forwarded-proto': 'https' }
      expect(attributes(await logIn(browserOn(service()), email, claim))).toEqual(expected)
    })

    test.each([
      ['the public address is https', { public_url: 'https://switchyard.example' }, {}],
      [
        'a trusted proxy says so',
        { settings: { ...withoutEdge(), trusted_proxies: [parseCidr('10.0.0.0/8')].flatMap((one) => one ?? []) } },
        { 'x-forwarded-proto': 'https' },
      ],
    ])('T-101 over TLS (%s) it is bound to this host', async (_how, parts, headers) => {
      const watch = watched({ parts })
      const secure = await startService(watch.options)
      const { email } = await newPerson(secure, watch.mails)
      const at = browserOn(secure)
      const answer = await logIn(at, email, headers)
      const bound = ['__Host-switchyard=…', 'Path=/', 'HttpOnly', 'SameSite=Lax', 'Max-Age=1209600', 'Secure']
      expect(attributes(answer)).toEqual(bound)
      expect((await at.get('/auth/me', headers)).status).toBe(200)
      // A neighbour on another subdomain could plant the plain name.
      const planted = { ...headers, cookie: String(at.jar.cookie).replace('__Host-', '') }
      expect((await at.get('/auth/me', planted)).status).toBe(401)
    })

    test('R12 a server for this machine alone takes nothing from a page under a name that only leads to it', async () => {
      const watch = watched({ parts: { local_only: true } })
      const local = await startService(watch.options)
      const { email, jar } = await newPerson(local, watch.mails)
      const rebound = { host: 'evil.example:8080', origin: 'http://evil.example:8080' }
      const at = browserOn(local)
      for (const site of [{ 'sec-fetch-site': 'same-origin' }, { 'sec-fetch-site': '' }]) {
        const page = { ...rebound, ...site }
        expect((await logIn(at, email, page)).status).toBe(403)
        const signUp = { email: 'a@b.example', password: PASSWORD }
        expect((await at.post('/auth/signup', signUp, page)).status).toBe(403)
        expect((await at.post('/v2/api-keys', { name: 'a' }, { ...page, cookie: String(jar.cookie) })).status).toBe(403)
      }
      for (const host of ['localhost:8080', '127.0.0.1:8080'])
        expect((await logIn(at, email, { host, origin: `http://${host}` })).status).toBe(200)
    })

    test('T-101 each login has a new one and ends the one before; what a stranger chose is never taken', async () => {
      const person = await owner()
      const first = String(person.jar.cookie)
      await logIn(person, person.email)
      const second = String(person.jar.cookie)
      expect(second).not.toBe(first)
      expect((await person.get('/auth/me')).status).toBe(200)
      expect((await person.get('/auth/me', { cookie: first })).status).toBe(401)
      const fixed = `switchyard=${'A'.repeat(43)}`
      await logIn(person, person.email, { cookie: fixed })
      expect(person.jar.cookie).not.toBe(fixed)
      expect((await person.get('/auth/me', { cookie: fixed })).status).toBe(401)
    })

    test('T-101 a session lasts 14 days from its use, prolonged once a day, and not a moment longer', async () => {
      const { clock } = service()
      const person = await owner()
      const use = async () => {
        const { status, headers } = await person.get('/v2/project')
        return [status, headers['set-cookie'] !== undefined]
      }
      clock.advance(DAY_MS - 1)
      expect(await use()).toEqual([200, false])
      clock.advance(1)
      expect([await use(), await use()]).toEqual([
        [200, true],
        [200, false],
      ])
      clock.advance(14 * DAY_MS - 1)
      expect(await use()).toEqual([200, true])
      clock.advance(14 * DAY_MS)
      expect(await use()).toEqual([401, false])
      expect((await person.get('/auth/me')).status).toBe(401)
      await service().housekeep('sweep accounts')
      const left = await service().db.rows(sql`SELECT id FROM sign_in WHERE person_id = ${person.person_id}`)
      expect(left).toEqual([])
    })

    test.each([
      ['twice', (cookie: string) => `${cookie}; switchyard=${'B'.repeat(43)}`],
      ['in another form', (cookie: string) => `${cookie}x`],
      ['under another name', (cookie: string) => cookie.replace('switchyard', 'Switchyard')],
      ['empty', () => 'switchyard='],
      ['as SQL', () => "switchyard=' OR '1'='1"],
    ])('T-102 a cookie that comes %s counts for nothing', async (_how, change) => {
      const person = await owner()
      const cookie = change(String(person.jar.cookie))
      expect((await person.get('/v2/project', { cookie })).status).toBe(401)
      expect((await person.get('/auth/me', { cookie })).status).toBe(401)
      expect((await person.get('/v2/project', { cookie: `other=1; ${person.jar.cookie} ; more=2` })).status).toBe(200)
    })
  })

  describe('T-102 requests from elsewhere', () => {
    const OURS = 'localhost:8080'
    const TABLE: [site: string | undefined, origin: string | undefined, accepted: boolean][] = [
      ['same-origin', undefined, true],
      ['none', undefined, true],
      ['same-origin', `http://${OURS}`, true],
      ['cross-site', undefined, false],
      ['same-site', undefined, false],
      ['cross-site', `http://${OURS}`, false],
      ['nonsense', undefined, false],
      ['', undefined, false],
      [undefined, `http://${OURS}`, true],
      [undefined, `https://${OURS}`, true],
      [undefined, 'http://evil.example', false],
      [undefined, `http://${OURS}.evil.example`, false],
      [undefined, 'http://localhost:9090', false],
      [undefined, 'null', false],
      ['same-origin', 'null', false],
      [undefined, 'not an origin', false],
      [undefined, undefined, false],
    ]
    const UNSAFE = [
      ['POST', CLUSTERS, atlas],
      ['POST', '/v2/project/cap', { limit_usd: 1 }],
      ['DELETE', `${CLUSTERS}/unknown`, undefined],
      ['POST', '/auth/project', { project_id: 'x' }],
      ['POST', '/auth/logout', undefined],
    ] as const

    /** Every unsafe request with every way of saying where it comes from: which ones were judged wrongly. */
    async function wronglyJudged(of: TestService, letters = mails): Promise<string[]> {
      const wrong: string[] = []
      for (const [site, origin, accepted] of TABLE) {
        const { jar } = await newPerson(of, letters)
        for (const [method, url, body] of UNSAFE) {
          const { statusCode } = await of.app.inject({
            method,
            url,
            headers: {
              host: OURS,
              cookie: String(jar.cookie),
              ...(site !== undefined && { 'sec-fetch-site': site }),
              ...(origin !== undefined && { origin }),
            },
            ...(body && { payload: body }),
          })
          if ((statusCode !== 403) !== accepted) wrong.push(`${method} ${url} ${site} ${origin}: ${statusCode}`)
        }
      }
      return wrong
    }

    test('T-102 with a cookie, changes are taken from our own pages only', async () => {
      expect(await wronglyJudged(service())).toEqual([])
    })

    test('T-102 a refusal stores nothing and says what programs do instead', async () => {
      const person = await owner()
      const cross = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
      const answer = await service().storingNothing(() => person.post(CLUSTERS, atlas, cross))
      expect(identity(answer)).toEqual(FORBIDDEN)
      expect(answer.body.error.message).toContain('API key')
      expect((await person.get(CLUSTERS, cross)).status).toBe(200) // reading changes nothing, and no page sees the answer
    })

    test('T-102 pages of other sites can neither log anybody in nor sign anybody up; programs can', async () => {
      const { email } = await owner()
      const credentials = { email, password: PASSWORD }
      for (const headers of [
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-origin', origin: 'null' },
      ] as Record<string, string>[]) {
        const at = browserOn(service())
        const refused = await service().storingNothing(() => at.post('/auth/login', credentials, headers))
        expect(identity(refused)).toEqual(FORBIDDEN)
      }
      const program = await service().as().post('/auth/login', credentials)
      expect(program.status).toBe(200)
    })

    test('T-102 a key needs no such proof, and where one is sent the cookie counts for nothing', async () => {
      const [person, other] = [await owner(), await service().newProject()]
      const cross = { 'sec-fetch-site': 'cross-site' }
      const keyed = { ...cross, authorization: `Bearer ${other.key}` }
      expect((await person.post(CLUSTERS, atlas, keyed)).status).toBe(200)
      expect((await person.get('/v2/project', keyed)).body.id).toBe(other.project.id)
      for (const authorization of ['Bearer svc_live_wrong', 'Basic abc', ''])
        expect(identity(await person.get('/v2/project', { authorization }))).toEqual([
          401,
          'invalid_api_key',
          'invalid_api_key',
        ])
    })

    test('T-102 planted: a server that asks for no proof is caught', async () => {
      const watch = watched()
      const broken = await startService(watch.options)
      const { callerOf, ...rest } = broken.people.signIns
      Object.assign(broken.people.signIns, rest, {
        callerOf: (request: Parameters<typeof callerOf>[0], reply: Parameters<typeof callerOf>[1]) => {
          Object.assign(request.headers, { 'sec-fetch-site': 'none', origin: undefined })
          return callerOf(request, reply)
        },
      })
      const wrong = await wronglyJudged(broken, watch.mails)
      expect(wrong).toContain(`POST ${CLUSTERS} cross-site undefined: 200`)
    })
  })

  describe('R3 roles', () => {
    const SCOPE_OF = { owner: 'admin', member: 'inference', viewer: 'read' } as const

    /** Every route with every role: who got in, and who should have. `/v1`, `/openai` and `/anthropic` are for keys alone. */
    async function wronglyJudged(of: TestService, letters = mails): Promise<string[]> {
      const wrong: string[] = []
      await of.operator() // R79: so that what comes after it is nobody's but its own
      for (const role of ROLES) {
        const person = await memberWith(role, of, letters)
        for (const walk of walkOf(of.routes).filter(({ isPublic }) => !isPublic)) {
          const { status } = await of.as().send(walk.method, walk.url, {
            headers: { cookie: String(person.jar.cookie), 'sec-fetch-site': 'same-origin' },
          })
          const needed = walk.route.endsWith('/heartbeat') ? 'admin' : scopeByRuling(walk) // R74: members are no keys
          const allowed = SCOPES.indexOf(SCOPE_OF[role]) >= SCOPES.indexOf(needed) && !isOperators(walk)
          const expected = /^\/(v1|openai|anthropic)\//.test(walk.route)
            ? status === 401
            : (status === 403) !== allowed && status !== 401
          if (!expected) wrong.push(`${walk.method} ${walk.route} as ${role}: ${status}`)
        }
      }
      return wrong
    }

    test('R3, R79 every registered route lets in the roles that the ruling names, and nobody else', async () => {
      expect(await wronglyJudged(service())).toEqual([])
    })

    test('R79 who signed in is the operator where they own the project that runs the service, and look at it', async () => {
      const { project_id } = await service().operator()
      const person = await newPerson(service(), mails)
      const status = async () => (await person.get('/v2/operator/projects')).status
      const join = (role: Role) =>
        service().db.rows(sql`
          INSERT INTO membership (project_id, person_id, role, created_at, sequence)
          VALUES (${project_id}, ${person.person_id}, ${role}, '', 1)
          ON CONFLICT (project_id, person_id) DO UPDATE SET role = excluded.role`)
      expect(await status()).toBe(403)
      await join('member')
      await person.post('/auth/project', { project_id })
      expect(await status()).toBe(403)
      await join('owner')
      expect(await status()).toBe(200)
      await person.post('/auth/project', { project_id: person.project_id })
      expect(await status()).toBe(403)
    })

    test('R3 planted: a role that is read as another is caught', async () => {
      const tampering: Tampering = {}
      const watch = watched({ tampering })
      const broken = await startService(watch.options)
      mutateSql(tampering, 'm.project_id, m.role,', "m.project_id, 'owner' AS role,")
      expect((await wronglyJudged(broken, watch.mails)).join()).toContain('POST /v2/api-keys as viewer: 400')
    })

    test('§5.8 another project’s things do not exist for a session either', async () => {
      const [home, stranger] = [await owner(), await owner()]
      const { id } = (await home.post(CLUSTERS, atlas)).body
      expect((await stranger.get(`${CLUSTERS}/${id}`)).status).toBe(404)
      expect((await stranger.del(`${CLUSTERS}/${id}`)).status).toBe(404)
      expect((await home.get(`${CLUSTERS}/${id}`)).status).toBe(200)
    })
  })

  test('§11 a session’s POSTs are as safe to repeat as a key’s', async () => {
    const person = await owner()
    const make = () => person.post(CLUSTERS, atlas, { 'agent-idempotency-key': 'once' })
    const [first, again] = [await make(), await make()]
    expect(again.headers['agent-idempotent-replay']).toBe('true')
    expect(again.bytes).toEqual(first.bytes)
    expect((await person.get(CLUSTERS)).body.data).toHaveLength(1)
  })

  test('R43 a session generates within the project’s cap, and its use is on record under its own id', async () => {
    const person = await owner()
    const generate = () => person.post('/v2/responses', { model: 'gpt-4o', input: 'hello' })
    expect((await generate()).status).toBe(200)
    await person.post('/v2/project/cap', { limit_usd: 10 })
    expect((await generate()).status).toBe(200)
    await person.post('/v2/project/cap', { limit_usd: 0 })
    expect((await generate()).status).toBe(429)
    const events = (await person.get('/v2/usage')).body.data as { key_id: string }[]
    expect(events.map(({ key_id }) => key_id.slice(0, 4))).toEqual(['sgn_', 'sgn_'])
  })
}, options)
