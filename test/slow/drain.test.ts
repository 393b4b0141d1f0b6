// A real server that is told to stop: what it has begun it finishes, for clients who stay and for those who left.
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { startUpstream } from '../support/upstream.ts'
import { gate } from '../support/wire.ts'
import { openScene } from '../torture/scene.ts'

const KEY = 'kept'

async function startOne() {
  const upstream = await startUpstream()
  const price = 'input_usd_per_million: 1, output_usd_per_million: 1, max_output_tokens: 100'
  const scene = await openScene({
    engine: 'sqlite',
    providers: `providers:\n  - { id: mock, base_url: "${upstream.base_url}", models: [{ id: m, ${price} }] }`,
  })
  onTestFinished(async () => {
    await scene.close()
    await upstream.close()
  })
  const server = await scene.start()
  const bodyOf = (more: object) =>
    JSON.stringify({ model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }], ...more })
  function ask(more: object, headers: Record<string, string> = {}) {
    const path = '/v1/chat/completions'
    const outgoing = request({ port: scene.port, method: 'POST', path, agent: false })
    for (const [name, value] of Object.entries({ ...headers, authorization: `Bearer ${scene.token}` }))
      outgoing.setHeader(name, value)
    outgoing.setHeader('content-type', 'application/json')
    outgoing.setHeader('connection', 'keep-alive') // whoever would keep it open must not hold up the stop
    outgoing.on('error', () => {})
    outgoing.end(bodyOf(more))
    return outgoing
  }
  return { upstream, scene, server, ask, bodyOf }
}

test('F22 a stream that is open when SIGTERM comes is finished, and then the process ends with 0', async () => {
  const { upstream, server, ask } = await startOne()
  const open = gate()
  upstream.behave({ chunks: 6, pace: (event) => (event === 3 ? open.promise : undefined) })
  const [answer] = (await once(ask({ stream: true }), 'response')) as [IncomingMessage]
  const parts: Buffer[] = []
  answer.on('data', (part) => parts.push(part))
  await once(answer, 'data')
  const stopped = server.stop()
  open.resolve()
  await once(answer, 'end')
  expect(Buffer.concat(parts).toString()).toMatch(/data: \[DONE\]\n\n$/)
  expect(await stopped).toBe(0)
})

test('R26 a keyed generation whose client has left is finished and kept before the process ends', async () => {
  const { upstream, scene, server, ask, bodyOf } = await startOne()
  const open = gate()
  upstream.behave({ wait: open.promise, text: 'worth keeping' })
  const left = ask({}, { 'agent-idempotency-key': KEY })
  await upstream.request(1)
  left.destroy()
  const stopped = server.stop()
  open.resolve()
  expect(await stopped).toBe(0)

  await scene.start()
  const headers = { 'agent-idempotency-key': KEY }
  const again = await scene.client.send({ method: 'POST', path: '/v1/chat/completions', headers, body: bodyOf({}) })
  expect([again.status, again.headers['agent-idempotent-replay']]).toEqual([200, 'true'])
  expect(again.body.toString()).toContain('worth keeping')
  expect(upstream.requests).toHaveLength(1)
})
