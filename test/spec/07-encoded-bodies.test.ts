// §10.1: a body may come compressed. What it grows to is bounded as if it had come so.
import * as zlib from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { ENCODINGS } from '../../src/http/encoded-bodies.ts'
import { CHAT, withScene } from '../support/inference-scene.ts'
import { withService } from '../support/service.ts'

const KEYS = '/v2/api-keys'
const { zstdCompressSync = (_bytes: Buffer) => Buffer.alloc(0) } = zlib as {
  zstdCompressSync?: (bytes: Buffer) => Buffer
}
const ENCODE: Record<string, (bytes: Buffer) => Buffer> = {
  gzip: (bytes) => zlib.gzipSync(bytes),
  'x-gzip': (bytes) => zlib.gzipSync(bytes),
  deflate: (bytes) => zlib.deflateSync(bytes),
  br: (bytes) => zlib.brotliCompressSync(bytes, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 2 } }),
  zstd: zstdCompressSync,
}
const encoded = (coding: string, body: unknown) =>
  ENCODE[coding.toLowerCase()]?.(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))) ?? Buffer.alloc(0)
const named = (coding: string) => ({ 'content-encoding': coding })

withService((service) => {
  describe('§10.1 on /v2', () => {
    test.each([...ENCODINGS, 'x-gzip', 'GZIP'])('§10.1 a body in %s is read', async (coding) => {
      const { send } = await service().newProject()
      const payload = encoded(coding, { name: 'packed' })
      const { status, body } = await send('POST', KEYS, { payload, headers: named(coding) })
      expect([status, body.name]).toEqual([200, 'packed'])
    })

    test('§10.1 identity is no encoding', async () => {
      const { send } = await service().newProject()
      expect((await send('POST', KEYS, { body: { name: 'ci' }, headers: named('identity') })).status).toBe(200)
    })

    test.each(['compress', 'gzip, gzip', 'snappy', 'g\u00fcnzip'])(
      '§10.1 %j is 415, naming the header, and nothing is stored',
      async (coding) => {
        const { send } = await service().newProject()
        const sending = { payload: encoded('gzip', { name: 'ci' }), headers: named(coding) }
        const { status, body, headers } = await service().storingNothing(() => send('POST', KEYS, sending))
        expect([status, body.error.type, headers['accept-encoding']]).toEqual([
          415,
          'invalid_request_error',
          ENCODINGS.join(', '),
        ])
        expect(body.error.message).toContain("'Content-Encoding'")
      },
    )

    test.each<[string, Buffer]>([
      ['what is no gzip', Buffer.from('{"name":"ci"}')],
      ['half of it', encoded('gzip', { name: 'ci' }).subarray(0, 20)],
      ['nothing', Buffer.alloc(0)],
    ])('§10.1 %s is 400, and nothing is stored', async (_case, payload) => {
      const { send } = await service().newProject()
      const { status, body } = await service().storingNothing(() =>
        send('POST', KEYS, { payload, headers: named('gzip') }),
      )
      expect([status, body.error.type]).toEqual([400, 'invalid_request_error'])
    })

    test.each(ENCODINGS)('§10.1 20 MB in %s are 413, and nothing is stored', async (coding) => {
      const { send } = await service().newProject()
      const payload = encoded(coding, ' '.repeat(20_000_000))
      expect(payload.length).toBeLessThan(40_000)
      const { status, body } = await service().storingNothing(() =>
        send('POST', KEYS, { payload, headers: named(coding) }),
      )
      expect([status, body.error.type]).toEqual([413, 'invalid_request_error'])
    })

    test('§10.1 what arrives is bounded too', async () => {
      const { send } = await service().newProject()
      const payload = zlib.gzipSync(Buffer.from(JSON.stringify({ name: 'x', y: 'y'.repeat(70_000) })), { level: 0 })
      const { status } = await service().storingNothing(() => send('POST', KEYS, { payload, headers: named('gzip') }))
      expect(status).toBe(413)
    })

    test('§11.4 a keyed request is replayed, whatever its body came in', async () => {
      const { send } = await service().newProject()
      const keyed = { 'agent-idempotency-key': 'packed-1' }
      const first = await send('POST', KEYS, {
        payload: encoded('gzip', { name: 'ci' }),
        headers: { ...named('gzip'), ...keyed },
      })
      const again = await send('POST', KEYS, { payload: 'x', headers: { ...named('snappy'), ...keyed } })
      expect([again.status, again.headers['agent-idempotent-replay']]).toEqual([200, 'true'])
      expect(again.bytes).toEqual(first.bytes)
    })

    test('§10.1 a body that could not be read ends its connection, and the answer says so', async () => {
      const { key } = await service().newProject()
      const { raw } = await service().listen()
      const bad = Buffer.alloc(50_000, 'x')
      const head = [`POST ${KEYS} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${key}`, 'Content-Encoding: gzip']
        .concat('Content-Type: application/json', `Content-Length: ${bad.length}`, '', '')
        .join('\r\n')
      const { status, headers, body } = await raw(Buffer.concat([Buffer.from(head), bad])) // until the server closes
      expect([status, headers.connection]).toEqual([400, 'close'])
      expect(body.error.message).toContain('gzip')
    })
  })
})

withScene((scene) => {
  test('§10.1 on /v1: what goes on is the body as it was before it was packed', async () => {
    const stage = await scene().stage()
    const body = JSON.stringify({ model: stage.model, messages: [{ role: 'user', content: 'hi '.repeat(50_000) }] })
    const { status } = await stage.send('POST', CHAT, { payload: encoded('gzip', body), headers: named('gzip') })
    expect(status).toBe(200)
    expect(stage.one.requests[0]?.bytes.toString()).toBe(body)
  })
})
