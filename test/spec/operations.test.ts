// What whoever runs the service sees: alive, ready, counted, drained.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { startService, withService } from '../support/service.ts'
import { untilClosed } from '../support/sockets.ts'
import { holdNextTransaction, takeAway } from '../support/tampered-db.ts'

const KEYS = '/v2/api-keys'
const request = (key: string, body: string, ...more: string[]) =>
  [
    `POST ${KEYS} HTTP/1.1`,
    'Host: x',
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    ...more,
    '',
    body,
  ].join('\r\n')

describe('§operations health and readiness', () => {
  withService(
    (service) => {
      test('§operations GET /healthz and /readyz need no key', async () => {
        expect((await service().as().get('/healthz')).body).toEqual({ status: 'ok' })
        expect((await service().as().get('/readyz')).body).toEqual({ status: 'ready' })
      })

      test('§operations /readyz says that the store is missing, and recovers by itself', async () => {
        const { as, tampering } = service()
        const bringBack = takeAway(tampering)
        const { status, body } = await as().get('/readyz')
        expect([status, body.error.type, body.error.code]).toEqual([503, 'server_error', 'unavailable'])
        expect(body.error.message).toContain('the store does not answer')
        expect((await as().get('/healthz')).status).toBe(200)
        bringBack()
        expect((await as().get('/readyz')).status).toBe(200)
      })
    },
    { tampering: {} },
  )
})

describe('§operations drain', () => {
  test('§operations once asked to stop: not ready, connections close, and requests are still served', async () => {
    const { as, get, post, readiness } = await startService()
    readiness.drain()
    const { status, body } = await as().get('/readyz')
    expect([status, body.error.message]).toEqual([503, expect.stringContaining('shutting down')])
    const served = await get(KEYS)
    expect([served.status, served.headers.connection]).toEqual([200, 'close'])
    const asked = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }], stream: true }
    const streamed = await post('/v1/chat/completions', asked)
    expect([streamed.status, streamed.headers.connection]).toEqual([200, 'close'])
  })

  test('§operations a worker whose place is taken: the server is ready, and connections close', async () => {
    const { as, get, readiness } = await startService()
    readiness.partWithConnections()
    expect((await as().get('/readyz')).status).toBe(200)
    expect((await get(KEYS)).headers.connection).toBe('close')
  })

  test('§operations what is in flight is finished before the service is closed', async () => {
    const { listen, tampering, key, readiness, app } = await startService({ tampering: {} })
    const { open } = await listen()
    const held = holdNextTransaction(tampering)
    const socket = await open()
    const answered = untilClosed(socket)
    socket.write(request(key, '{"name":"ci"}', 'Agent-Idempotency-Key: a'))
    await held.entered
    readiness.drain()
    let isClosed = false
    const closed = app.close().then(() => {
      isClosed = true
    })
    for (let turn = 0; turn < 50; turn++) await nextTurn()
    expect(isClosed).toBe(false)
    held.release()
    const { status, headers } = await answered
    expect([status, headers.connection]).toEqual([200, 'close'])
    await closed
  })
})

describe('§operations GET /metrics', () => {
  withService(
    (service) => {
      const metrics = async () => (await service().as().get('/metrics')).body as string
      const value = (text: string, series: string) =>
        Number(
          text
            .split('\n')
            .find((line) => line.startsWith(`${series} `))
            ?.split(' ')[1] ?? 0,
        )

      test('§operations requests are counted by route pattern and status, never by address or key', async () => {
        const { post, get, del, key } = await service().newProject()
        const { id } = (await post('/v2/byoc/clusters', { name: 'atlas', region: 'eu' })).body
        await get(`/v2/byoc/clusters/${id}`)
        await del(`/v2/byoc/clusters/${id}`)
        await get('/nowhere/at/all')
        const text = await metrics()
        const counted = (labels: string) => value(text, `switchyard_http_request_seconds_count{${labels}}`)
        expect(counted('method="GET",route="/v2/byoc/clusters/:cluster_id",status="200"')).toBe(1)
        expect(counted('method="DELETE",route="/v2/byoc/clusters/:cluster_id",status="200"')).toBe(1)
        expect(counted('method="GET",route="unknown",status="404"')).toBe(1)
        for (const secret of [id, key, '/nowhere']) expect(text).not.toContain(secret)
        expect(value(text, 'switchyard_http_requests_in_flight')).toBe(1) // the request that asks
      })

      test('§operations keyed POSTs are counted by outcome', async () => {
        const { post } = await service().newProject()
        const before = await metrics()
        const outcome = (text: string, name: string) => value(text, `switchyard_idempotency_total{outcome="${name}"}`)
        for (let n = 0; n < 3; n++) await post(KEYS, { name: 'ci' }, { 'agent-idempotency-key': 'a' })
        const after = await metrics()
        expect(outcome(after, 'executed') - outcome(before, 'executed')).toBe(1)
        expect(outcome(after, 'replayed') - outcome(before, 'replayed')).toBe(2)
      })

      test('§operations a client that leaves is counted, and no longer in flight', async () => {
        const { listen, tampering, newProject, app } = service()
        const { key } = await newProject()
        const { open } = await listen()
        // Over the wire: the injected answers of a test never finish the way that those of a socket do.
        const metrics = async () => (await fetch(`${app.listeningOrigin}/metrics`)).text()
        const before = await metrics()
        const held = holdNextTransaction(tampering)
        const socket = await open()
        socket.write(request(key, '{"name":"ci"}', 'Agent-Idempotency-Key: left'))
        await held.entered
        socket.resetAndDestroy()
        await expect
          .poll(async () => value(await metrics(), 'switchyard_http_requests_aborted_total'))
          .toBe(value(before, 'switchyard_http_requests_aborted_total') + 1)
        held.release()
        await held.settled
        await expect.poll(async () => value(await metrics(), 'switchyard_http_requests_in_flight')).toBe(1)
      })
    },
    { tampering: {} },
  )
})
