// §10.2: standing headers on every route and every refusal; §9.3: names in any case.
import Fastify from 'fastify'
import { expect, test } from 'vitest'
import { conformanceWith } from '../support/conformance.ts'
import { walkOf } from '../support/routes.ts'
import { withService } from '../support/service.ts'
import { takeAway } from '../support/tampered-db.ts'

const STANDING = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
}

withService(
  (service) => {
    test('§10.2 every registered route, with a key and without, has the security headers and a request id', async () => {
      const { key } = await service().newProject()
      const ids = new Set<string>()
      let answers = 0
      for (const { method, url } of walkOf(service().routes))
        for (const raw of [key, undefined]) {
          const { headers } = await service().as(raw).send(method, url)
          // The reference page runs its own script; every other answer may load nothing at all.
          const { 'content-security-policy': policy, ...rest } = STANDING
          expect(headers, `${method} ${url}`).toMatchObject(
            url.startsWith('/docs') ? rest : { ...rest, 'content-security-policy': policy },
          )
          expect(headers['content-security-policy']).toContain("frame-ancestors 'none'")
          expect(headers['x-request-id']).toMatch(/^req_[0-9A-Za-z]{20}$/)
          expect(headers).not.toHaveProperty('server')
          expect(headers).not.toHaveProperty('x-powered-by')
          ids.add(headers['x-request-id'] ?? '')
          answers++
        }
      expect(ids.size).toBe(answers)
    })

    test.each([
      ['400', 'POST', '/v2/api-keys', {}],
      ['400 of the router', 'GET', '/v2/api-keys/%zz', {}],
      ['404', 'GET', '/nowhere', {}],
      ['404 of the router', 'GET', `/v2/byoc/clusters/${'x'.repeat(5_000)}`, {}],
      ['405', 'PUT', '/v2/api-keys', {}],
      ['413', 'POST', '/v2/api-keys', { payload: 'x'.repeat(70_000) }],
      ['415', 'POST', '/v2/api-keys', { payload: 'x', headers: { 'content-type': 'text/plain' } }],
    ])('§10.2 a %s has them too', async (status, method, url, sending) => {
      const { send } = await service().newProject()
      const answer = await send(method, url, sending)
      expect(String(answer.status)).toBe(status.slice(0, 3))
      expect(answer.headers).toMatchObject({ ...STANDING, 'x-request-id': expect.stringMatching(/^req_/) })
      expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
    })

    test('§10.2 so do a 500 and a 503', async () => {
      const { tampering, as, newProject } = service()
      const { key } = await newProject()
      const bringBack = takeAway(tampering)
      const away = await as(key).get('/v2/api-keys')
      bringBack()
      tampering.rows = () => Promise.reject(new Error('broken'))
      const broken = await as(key).get('/v2/api-keys')
      tampering.rows = undefined
      expect([away.status, broken.status]).toEqual([503, 500])
      for (const { headers } of [away, broken])
        expect(headers).toMatchObject({ ...STANDING, 'x-request-id': expect.stringMatching(/^req_/) })
    })

    test('§9.3 header names are read in any case', async () => {
      const { as, newProject } = service()
      const { key } = await newProject()
      const headers = {
        AUTHORIZATION: `Bearer ${key}`,
        'AGENT-IDEMPOTENCY-KEY': 'a',
        'CONTENT-TYPE': 'application/json',
      }
      const ask = () => as(undefined).send('POST', '/v2/api-keys', { payload: '{"name":"ci"}', headers })
      const answers = [await ask(), await ask()]
      expect(answers.map((one) => [one.status, one.headers['agent-idempotent-replay']])).toEqual([
        [200, 'false'],
        [200, 'true'],
      ])
    })
  },
  { tampering: {} },
)

test('§10.2 planted: an answer without them is caught', async () => {
  const app = Fastify()
  app.get('/', async () => ({}))
  const { statusCode: status, headers } = await app.inject('/')
  const wrong = conformanceWith({ paths: {} })('GET', '/', { status, headers, body: {} })
  expect(wrong).toContain('x-content-type-options is undefined')
  expect(wrong).toHaveLength(6)
})
