// §7, R2: whatever goes wrong, one envelope. What a request object can express; the rest is in 07-malformed-http.
import Fastify from 'fastify'
import { Type } from 'typebox'
import { describe, expect, test } from 'vitest'
import { unavailable } from '../../src/storage/db.ts'
import { envelopeFindings } from '../support/conformance.ts'
import { type Sending, withService } from '../support/service.ts'

const KEYS = '/v2/api-keys'
const CLUSTERS = '/v2/byoc/clusters'
const SECRETIVE = 'relation "secret_table" does not exist'
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

withService(
  (service) => {
    async function sent(method: string, url: string, sending: Sending = {}) {
      const { send } = await service().newProject()
      const { status, body, headers } = await service().storingNothing(() => send(method, url, sending))
      return { status, error: body.error, headers }
    }
    const invalid = { type: 'invalid_request_error', message: expect.any(String) }

    describe('T-30 content types', () => {
      const typed = async (type: string) => {
        const { send } = await service().newProject()
        return (await send('POST', KEYS, { payload: '{"name":""}', headers: { 'content-type': type } })).status
      }

      test.each([
        'application/json',
        'application/json;',
        ' application/JSON ;charset=utf-8',
        'application/json; charset="utf-8"',
      ])('T-30 %j is read, and validated', async (type) => {
        expect(await typed(type)).toBe(400)
      })

      test.each([
        'application/json\ta',
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
        'application/jsonx',
        'application/vnd.api+json',
        'json',
        '',
        'application / json',
      ])('T-30 415 on %j, and nothing is stored', async (type) => {
        const sending = { payload: '{"name":"ci"}', headers: { 'content-type': type } }
        const { status, error } = await sent('POST', KEYS, sending)
        expect({ status, error }).toEqual({ status: 415, error: invalid })
        expect(error.message).toContain('Content-Type: application/json')
      })
    })

    describe('bodies', () => {
      test.each([
        ['T-32 nothing', ''],
        ['T-32 a text', '"abc"'],
        ['T-32 a number', '5'],
        ['T-32 null', 'null'],
        ['T-32 an array', '[]'],
        ['T-31 half an object', '{"name":"ci"'],
        ['T-31 two objects', '{"name":"ci"}{"name":"ci"}'],
        ['T-31 not JSON at all', 'name=ci'],
        ['T-31 a comment', '{"name":"ci" /* x */}'],
        ['T-31 NaN', '{"name":"ci","x":NaN}'],
        ['T-33 __proto__', '{"name":"ci","__proto__":{"admin":true}}'],
        ['T-34 65 levels in a field that is ignored', `{"name":"ci","x":${nested(65)}}`],
        ['T-34 thirty thousand levels', `{"name":"ci","x":${nested(30_000)}}`],
        ['T-36 bytes that are not UTF-8', Buffer.from([...Buffer.from('{"name":"'), 0xff, 0xfe, ...Buffer.from('"}')])],
        ['T-36 half a character', Buffer.from([...Buffer.from('{"name":"'), 0xe2, 0x82, ...Buffer.from('"}')])],
        ['T-36 UTF-16', Buffer.from('{"name":"ci"}', 'utf16le')],
        ['T-37 a lone surrogate', '{"name":"\\ud800"}'],
        ['T-37 a NUL', '{"name":"a\\u0000"}'],
        ['T-38 a hundred characters too many', JSON.stringify({ name: 'x'.repeat(356) })],
        ['T-39 the second of two names is empty', '{"name":"a","name":""}'],
      ])('%s is 400, and nothing is stored', async (_case, payload) => {
        const { status, error } = await sent('POST', KEYS, { payload, headers: { 'content-type': 'application/json' } })
        expect({ status, error }).toEqual({ status: 400, error: invalid })
      })

      test.each([
        ['T-34 64 levels in a field that is ignored', `{"name":"ci","x":${nested(63)}}`],
        ['T-39 the last of two names counts', '{"name":"","name":"a"}'],
        ['T-44 fields nobody knows', '{"name":"ci","x":1,"y":{"z":[]}}'],
        ['T-33 constructor.prototype', '{"name":"ci","constructor":{"prototype":{"admin":true}}}'],
        ['T-36 characters of every length', '{"name":"aé€🚀"}'],
        ['T-36 a byte-order mark', '\ufeff{"name":"ci"}'],
      ])('%s: 200', async (_case, payload) => {
        const { send } = await service().newProject()
        expect((await send('POST', KEYS, { payload })).status).toBe(200)
      })

      test.each([
        ['T-33 __proto__', '{"name":"ci","__proto__":{"admin":true}}', "'__proto__'"],
        ['T-33 __proto__ further down, escaped', '{"name":"ci","x":[{"\\u005f_proto__":1}]}', "'__proto__'"],
        ['T-31 half an object', '{"name":"ci","__proto__":1', 'JSON'],
      ])('R2 %s: the message says what is wrong', async (_case, payload, told) => {
        expect((await sent('POST', KEYS, { payload })).error.message).toContain(told)
      })

      test('R9 a field called constructor is ignored like any other, and reaches no prototype', async () => {
        const { send } = await service().newProject()
        const { status, body } = await send('POST', KEYS, {
          payload: '{"name":"ci","constructor":{"prototype":{"polluted":true}},"prototype":{"polluted":true}}',
        })
        expect([status, 'polluted' in {}, 'polluted' in Object, JSON.stringify(body).includes('polluted')]).toEqual([
          200,
          false,
          false,
          false,
        ])
      })

      test('T-35 413 on a body over 64 KiB, and nothing is stored', async () => {
        const { status, error, headers } = await sent('POST', KEYS, { body: { name: 'ci', x: 'y'.repeat(65_536) } })
        expect({ status, error }).toEqual({ status: 413, error: invalid })
        expect(headers.connection).toBe('close')
      })
    })

    describe('T-43 addresses', () => {
      test.each([
        ['/v1/messages', "Anthropic's protocol"],
        ['/v1/messages/count_tokens', "Anthropic's protocol"],
        ['/v1/images/variations', 'none of that'],
        ['/v1/videos', 'none of that'],
        ['/v1/audio/translations', 'none of that'],
        ['/v1/realtime/sessions', 'none of that'],
        ['/v1/files', 'uploaded'],
        ['/v1/batches', 'batches'],
        ['/v1/vector_stores', 'uploaded'],
        ['/v1/conversations', 'previous_response_id'],
        ['/openai/deployments/x/images/generations', "Azure's API"],
      ])('§4.11 404 on POST %s says that it is not here, whatever its size', async (url, told) => {
        for (const size of [10, 100_000]) {
          const { status, error } = await sent('POST', url, { body: { model: 'm', input: 'x'.repeat(size) } })
          expect({ status, error }).toEqual({ status: 404, error: invalid })
          expect(error.message).toContain(told)
        }
      })

      test('R2 an unknown model has a code, other things that are not there have none', async () => {
        expect((await sent('GET', '/v1/models/nobody-has-it')).error.code).toBe('model_not_found')
        expect((await sent('POST', '/v2/route-explain', { body: { model: 'x-'.repeat(9) } })).status).toBe(200)
        expect((await sent('GET', `${KEYS}/key_unknown`)).error).not.toHaveProperty('code')
      })

      test.each([
        '/nothing',
        '/v2',
        '/v3/api-keys',
        `${KEYS}/`,
        '/v2/API-KEYS',
        '/v2//api-keys',
        '/%2e%2e/etc/passwd',
        `${KEYS}/a/b/c`,
      ])('T-43 404 on GET %s', async (url) => {
        const { status, error } = await sent('GET', url)
        expect({ status, error }).toEqual({ status: 404, error: invalid })
      })

      test.each([
        ['PUT', KEYS, 'POST, GET, HEAD'],
        ['DELETE', KEYS, 'POST, GET, HEAD'],
        ['POST', `${KEYS}/key_x`, 'GET, HEAD, DELETE, PATCH'],
        ['PATCH', `${CLUSTERS}/byc_x`, 'GET, HEAD, DELETE'],
        ['OPTIONS', `${CLUSTERS}/byc_x/heartbeat?x=1`, 'POST'],
        ['POST', '/healthz', 'GET, HEAD'],
        ['PUT', '/v2/%61pi-keys', 'POST, GET, HEAD'],
        ['PROPFIND', KEYS, 'POST, GET, HEAD'],
        ['TRACE', KEYS, 'POST, GET, HEAD'],
      ])('R2 405 on %s %s, which allows %s', async (method, url, allow) => {
        const { status, error, headers } = await sent(method, url)
        expect({ status, error }).toEqual({ status: 405, error: invalid })
        expect(headers.allow?.split(', ').sort()).toEqual(allow.split(', ').sort())
      })

      test.each([`${KEYS}/%zz`, `${CLUSTERS}/%`, `${CLUSTERS}/%c3%28`])('T-43 400 on %s', async (url) => {
        expect(await sent('GET', url)).toMatchObject({ status: 400, error: invalid })
      })

      test.each([101, 4_000, 5_000])('T-43 404 on an id of %d characters', async (length) => {
        expect(await sent('GET', `${CLUSTERS}/byc_${'x'.repeat(length)}`)).toMatchObject({
          status: 404,
          error: invalid,
        })
      })
    })

    test('§7 500 on a fault: a fixed text, no detail, and the cause in the log', async () => {
      const { tampering, log, newProject, as } = service()
      const { key } = await newProject()
      tampering.rows = () => Promise.reject(new Error(SECRETIVE))
      const { status, headers, body, bytes } = await as(key).get(CLUSTERS)
      tampering.rows = undefined
      expect([status, body.error.type, body.error.code]).toEqual([500, 'server_error', undefined])
      expect(bytes.toString()).not.toContain('secret_table')
      const lines = log.map((line) => JSON.parse(line)).filter(({ reqId }) => reqId === headers['x-request-id'])
      expect(lines).toMatchObject([{ level: 50, route: CLUSTERS, err: { message: SECRETIVE } }])
    })

    test('§10.2 503 is a warning with its cause, under the request’s own id', async () => {
      const { tampering, log, newProject, as } = service()
      const { key } = await newProject()
      tampering.rows = () => Promise.reject(unavailable(new Error('no route to host')))
      const { headers } = await as(key).get(CLUSTERS)
      tampering.rows = undefined
      const lines = log.map((line) => JSON.parse(line)).filter(({ reqId }) => reqId === headers['x-request-id'])
      expect(lines).toMatchObject([{ level: 40, route: CLUSTERS, kind: 'unavailable', cause: 'no route to host' }])
    })

    test('§7 no key, body or answer ever reaches the log', async () => {
      const { log, as, newProject } = service()
      const { post, key } = await newProject()
      const created = await post(KEYS, { name: 'a-name-in-a-body' })
      await as(created.body.key).get(CLUSTERS)
      await as(`${key}x`).post(KEYS, { name: 'a-name-in-a-body' }, { 'agent-idempotency-key': 'an-idempotency-key' })
      const told = log.join('')
      for (const secret of [key.slice(13), created.body.key.slice(13), 'a-name-in-a-body', 'an-idempotency-key'])
        expect(told).not.toContain(secret)
    })
  },
  { tampering: {}, log: [] },
)

// The checks above must fail where the framework is left to its own manners.
describe('R2 planted: a Fastify with its defaults', () => {
  const bare = () => {
    const app = Fastify()
    const schema = { body: Type.Object({ name: Type.String({ minLength: 1 }) }) }
    app.post(KEYS, { schema }, async (request) => request.body)
    return app
  }
  const post = (payload: string, type = 'application/json') =>
    bare().inject({ method: 'POST', url: KEYS, payload, headers: { 'content-type': type } })

  test('R2 planted: its 404, 413 and 415 are not the envelope', async () => {
    const answers = [
      await bare().inject({ url: '/nowhere' }),
      await post(`{"name":"${'x'.repeat(2 ** 21)}"}`),
      await post('name=ci', 'text/xml'),
    ]
    for (const { headers, payload } of answers) expect(envelopeFindings(headers, JSON.parse(payload))).not.toEqual([])
  })

  test('T-31 planted: it coerces a number to a name', async () => {
    expect((await post('{"name":5}')).statusCode).toBe(200)
  })

  test('T-36 planted: it stores another character than was sent', async () => {
    const app = bare()
    const payload = Buffer.from([...Buffer.from('{"name":"'), 0xff, ...Buffer.from('"}')])
    const answer = await app.inject({
      method: 'POST',
      url: KEYS,
      payload,
      headers: { 'content-type': 'application/json' },
    })
    expect(answer.json().name).toBe('\ufffd')
  })
})
