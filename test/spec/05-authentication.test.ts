// §5, R3, R5: who is calling, and what they may do.
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { SCOPES, type Scope } from '../../src/core/scopes.ts'
import { buildFastify } from '../../src/http/fastify.ts'
import { createKey } from '../../src/keys/key.ts'
import { contentsOf } from '../support/databases.ts'
import { isOperators, scopeByRuling, walkOf } from '../support/routes.ts'
import { type Answer, startService, type TestService, withService } from '../support/service.ts'
import { countStatements, mutateSql, type Tampering, textOf } from '../support/tampered-db.ts'

const CLUSTERS = '/v2/byoc/clusters'
const mistyped = (raw: string) => raw.slice(0, -1) + (raw.endsWith('a') ? 'b' : 'a')
const identity = ({ status, body }: Answer) => [status, body.error?.type, body.error?.code]

withService(
  (service) => {
    const closed = (of = service()) => walkOf(of.routes).filter(({ isPublic }) => !isPublic)

    test('§5.3 401 on every route without a key, with a wrong one, and with one nobody has; nothing is stored', async () => {
      const unknown = createKey('prj_x', { name: 'x' }, 0).raw
      const { key } = await service().newProject()
      const before = await contentsOf(service().db)
      expect(closed().length).toBeGreaterThan(8)
      for (const { method, url } of closed())
        for (const raw of [undefined, mistyped(key), unknown, 'svc_live_', 'null']) {
          const answer = await service().as(raw).send(method, url)
          expect(answer.status, `${method} ${url} with ${raw}`).toBe(401)
          expect(answer.headers['www-authenticate']).toBe('Bearer')
          const told = url.startsWith('/anthropic/')
            ? ['authentication_error', undefined]
            : ['invalid_api_key', 'invalid_api_key'] // R81
          if (method !== 'HEAD') expect(identity(answer)).toEqual([401, ...told])
        }
      expect(await contentsOf(service().db)).toBe(before)
    })

    describe('R3 scopes', () => {
      /** Every route with every scope: who got in, and who should have. */
      async function* wronglyJudged(of: TestService): AsyncGenerator<string> {
        const [operator, tenant] = [await of.operator(), await of.newProject()]
        for (const [whose, { keyWith }] of Object.entries({ tenant, operator }))
          for (const scope of SCOPES) {
            const { send } = of.as(await keyWith(scope))
            for (const walk of closed(of)) {
              const { status } = await send(walk.method, walk.url)
              const has_scope = SCOPES.indexOf(scope) >= SCOPES.indexOf(scopeByRuling(walk))
              const allowed = has_scope && (whose === 'operator' || !isOperators(walk))
              const judged = `${walk.method} ${walk.route} with ${scope} of the ${whose}: ${status}`
              if ((status === 403) === allowed) yield judged
            }
          }
      }

      test('R3, R79 every registered route lets in whom the ruling names, and nobody else', async () => {
        const wrong: string[] = []
        for await (const one of wronglyJudged(service())) wrong.push(one)
        expect(wrong).toEqual([])
      })

      test('R3 planted: a key that is taken for an admin’s, and one that is taken for a reader’s, are caught', async () => {
        for (const [seen, expected] of [
          ['admin', 'POST /v2/api-keys with read of the tenant: 400'] as const,
          ['read', 'admin of the tenant: 403'] as const,
        ]) {
          const tampering: Tampering = {}
          const broken = await startService({ tampering })
          tampering.rows = async (statement, run) => {
            const rows = await run(statement)
            return textOf(statement).includes('WHERE k.hash')
              ? rows.map((row) => ({ ...(row as object), scopes: seen }))
              : rows
          }
          const found = async () => {
            for await (const one of wronglyJudged(broken)) if (one.includes(expected)) return true
            return false
          }
          expect(await found()).toBe(true)
        }
      })

      test('R3 403 names the scope that is missing, and nothing is stored', async () => {
        const { keyWith } = await service().newProject()
        const reader = service().as(await keyWith('read'))
        const answer = await service().storingNothing(() => reader.post('/v2/api-keys', { name: 'x' }))
        expect(identity(answer)).toEqual([403, 'insufficient_scope', 'insufficient_scope'])
        expect(answer.body.error.message).toContain("'admin'")
      })

      test('T-47 a key without admin cannot make itself one', async () => {
        const { keyWith } = await service().newProject()
        for (const scope of ['read', 'inference'] satisfies Scope[]) {
          const caller = service().as(await keyWith(scope))
          const body = { name: 'x', scopes: ['admin'] }
          expect((await service().storingNothing(() => caller.post('/v2/api-keys', body))).status).toBe(403)
        }
      })

      test.each([
        ['nothing', {}],
        ['a scope alone', { scope: 'read' }],
        ['a class alone', { class: 'read' }],
      ] as const)('R3 a route that declares %s stops the start', async (_case, config) => {
        const app = buildFastify(pino({ level: 'silent' }))
        app.get('/v2/forgotten', { config }, async () => ({}))
        await expect(app.ready()).rejects.toThrow('GET /v2/forgotten declares no scope and class')
      })
    })

    describe('R5 keys', () => {
      test('R5 three hundred keys with a wrong checksum cause no statement at all; a good one causes one', async () => {
        const { as, tampering, newProject } = service()
        const { key } = await newProject()
        const statements = countStatements(tampering)
        const wrong = Array.from({ length: 300 }, () => mistyped(createKey('prj_x', { name: 'x' }, 0).raw))
        const asked = await statements.while(async () => {
          for (const raw of [...wrong, `svc_live_${"' OR 1=1 --".padEnd(42, 'x').replaceAll(' ', '_')}`])
            expect((await as(raw).get(CLUSTERS)).status).toBe(401)
        })
        expect(asked).toEqual([])
        expect(await statements.while(() => as(key).get(CLUSTERS))).toHaveLength(2)
        tampering.rows = undefined
      })
    })

    describe('§5.4 revocation', () => {
      /** Used until it works, revoked, then used at once by many, here and in another process on the same store. */
      async function acceptedAfterwards(of: TestService): Promise<number> {
        const { post, del } = await of.newProject()
        const other = await of.startProcess('other')
        const { id, key } = (await post('/v2/api-keys', { name: 'ci' })).body
        const use = () =>
          Promise.all([of, other].flatMap(({ as }) => Array.from({ length: 20 }, () => as(key).get(CLUSTERS))))
        expect((await use()).every(({ status }) => status === 200)).toBe(true)
        expect((await del(`/v2/api-keys/${id}`)).status).toBe(200)
        return (await use()).filter(({ status }) => status !== 401).length
      }

      test('§5.4, T-50 once the revocation is answered, no request is accepted anywhere', async () => {
        expect(await acceptedAfterwards(service())).toBe(0)
      })

      test('§5.4 planted: a cache of holders is caught', async () => {
        const tampering: Tampering = {}
        const broken = await startService({ tampering })
        const cache = new Map<string, unknown[]>()
        tampering.rows = async (statement, run) => {
          if (!textOf(statement).includes('WHERE k.hash')) return run(statement)
          const hash = String(statement.values[0])
          if (!cache.has(hash)) cache.set(hash, await run(statement))
          return cache.get(hash) ?? []
        }
        expect(await acceptedAfterwards(broken)).toBeGreaterThan(0)
      })
    })

    describe('§5.8 another project’s things do not exist', () => {
      /** For each route that names a thing: the answer about a stranger's thing and about one that nobody has. */
      async function differences(of: TestService): Promise<string[]> {
        const [home, other] = [await of.newProject(), await of.newProject()]
        const cluster_id = (await other.post(CLUSTERS, { name: 'theirs', region: 'eu' })).body.id
        const theirs: Record<string, string> = { ':cluster_id': cluster_id, ':key_id': other.key_id }
        const found: string[] = []
        for (const { method, route } of closed(of).filter((walk) => /:(cluster|key)_id/.test(walk.route))) {
          const [, param = ''] = /(:\w+)/.exec(route) ?? []
          const [id, unknown] = [theirs[param] as string, (theirs[param] as string).replace(/.$/, '-')]
          const body = { status: 'active', limit_usd: 1, name: 'x', ttl_seconds: 60 }
          const ask = (one: string) => home.send(method, route.replace(param, one), /^P/.test(method) ? { body } : {})
          const [about, nobody] = [await ask(id), await ask(unknown)]
          const same = about.bytes.toString().replaceAll(id, 'X') === nobody.bytes.toString().replaceAll(unknown, 'X')
          if (about.status !== 404 || nobody.status !== 404 || !same) found.push(`${method} ${route}: ${about.status}`)
        }
        if ((await other.get(`${CLUSTERS}/${cluster_id}`)).body.status !== 'registering') found.push('touched')
        return found
      }

      test('§5.8 every route answers 404 about them, with the bytes it has for what nobody has', async () => {
        expect(await differences(service())).toEqual([])
      })

      test('§5.8 planted: statements that do not name the project are caught', async () => {
        const tampering: Tampering = {}
        const broken = await startService({ tampering })
        mutateSql(tampering, /WHERE project_id = $/, "WHERE '' <> ")
        expect(await differences(broken)).toContain('GET /v2/byoc/clusters/:cluster_id: 200')
      })
    })
  },
  { tampering: {} },
)

describe('T-42 the Authorization header, over a socket', () => {
  withService((service) => {
    const ask = async (...lines: string[]) => {
      const socket = await listening()
      return socket.raw(`GET ${CLUSTERS} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${lines.join('\r\n')}\r\n\r\n`)
    }
    let started: ReturnType<TestService['listen']> | undefined
    const listening = () => {
      started ??= service().listen()
      return started
    }

    test('T-42 once, in any case of its scheme and name, is accepted', async () => {
      const { key } = await service().newProject()
      const forms = [
        `Authorization: Bearer ${key}`,
        `authorization: bearer ${key}`,
        `AUTHORIZATION:   BEARER   ${key}  `,
      ]
      for (const form of forms) expect((await ask(form)).status, form).toBe(200)
    })

    test('T-42 twice, another scheme, nothing behind it, too long, or SQL is 401', async () => {
      const { key } = await service().newProject()
      const good = `Authorization: Bearer ${key}`
      const forms = [
        [good, good],
        [good, 'Authorization: Bearer x'],
        ['Authorization: Bearer x', good],
        [`Authorization: Basic ${Buffer.from(`:${key}`).toString('base64')}`],
        [`Authorization: ${key}`],
        ['Authorization: Bearer'],
        ['Authorization: Bearer '],
        ['Authorization:'],
        [`Authorization: Bearer ${key} ${key}`],
        [`Authorization: Bearer ${key},${key}`],
        [`Authorization: Bearer ${key}${'x'.repeat(10_000)}`],
        ["Authorization: Bearer ' OR '1'='1"],
        [`Authorization: Bearer ${key.slice(0, -1)}\u00e9`],
        [`X-Api-Key: ${key}`, `Cookie: key=${key}`],
      ]
      for (const lines of forms) {
        const answer = await ask(...lines)
        expect([answer.status, answer.body.error?.type], lines.join(' | ')).toEqual([401, 'invalid_api_key'])
      }
    })

    test('T-42 a token of a megabyte is 431', async () => {
      expect((await ask(`Authorization: Bearer ${'x'.repeat(1_048_576)}`)).status).toBe(431)
    })
  })
})
