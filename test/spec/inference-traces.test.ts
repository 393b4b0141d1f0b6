// GET /v2/traces over the wire: what the trace says of an answer is what the answer said of itself.
import { expect, test } from 'vitest'
import { sql } from '../../src/storage/db.ts'
import { type Heard, hintsHeader } from '../support/inference-client.ts'
import { type Stage, withScene } from '../support/inference-scene.ts'

interface Told {
  name: string
  value: string
  sent_as: string
  sentence: string
}

const agentIn = (headers: Record<string, string>) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('agent-')))

const toldAs = (headers: Told[], sent_as: string) =>
  Object.fromEntries(headers.filter((one) => one.sent_as === sent_as).map(({ name, value }) => [name, value]))

const ASKED = { qos: { class: 'interactive', target_ttft_ms: 5_000 }, reuse: { preference: 'avoid' } }

withScene((scene) => {
  const traceOf = async (stage: Stage, heard: Heard) =>
    (await stage.get(`/v2/traces/${heard.headers['agent-trace-id']}`)).body

  test.each<[string, (stage: Stage) => Promise<Heard>]>([
    ['a plain answer', (stage) => stage.chat()],
    ['a stream', (stage) => stage.chat({ stream: true })],
    ['a keyed answer', (stage) => stage.chat({}, { keyed: 'k' })],
    ['a keyed stream with hints', (stage) => stage.chat({ stream: true }, { keyed: 'k', headers: hintsHeader(ASKED) })],
  ])('§10.2 %s: exactly the headers and trailers that came', async (_case, ask) => {
    const stage = await scene().stage()
    const heard = await ask(stage)
    const { headers, usage } = await traceOf(stage, heard)
    expect(toldAs(headers, 'header')).toEqual(agentIn(heard.headers))
    expect(toldAs(headers, 'trailer')).toEqual(agentIn(heard.trailers))
    expect(usage.trace_id).toBe(heard.headers['agent-trace-id'])
  })

  test('R47 a failover: both attempts with when, how long and what came of them', async () => {
    const stage = await scene().stage()
    const { clock } = scene()
    stage.one.behave({
      respond(_request, response) {
        clock.advance(70)
        response.writeHead(503).end()
      },
    })
    const heard = await stage.chat({ model: stage.both })
    const { timeline, headers } = await traceOf(stage, heard)
    const attempts = timeline.filter(({ phase }: { phase: string }) => phase === 'attempt')
    expect(attempts).toMatchObject([
      { attempt: 1, target: `provider:${stage.first}`, duration_ms: 70, started_ms: 0 },
      { attempt: 2, target: `provider:${stage.second}`, duration_ms: 0, started_ms: 70, outcome: 'answered' },
    ])
    expect(attempts[0].outcome).not.toBe('answered')
    expect(toldAs(headers, 'header')).toEqual(agentIn(heard.headers))
    expect(toldAs(headers, 'header')['agent-qos-fallback-used']).toBe('true')
  })

  test('§10.2 planted: facts that were not written down show', async () => {
    const stage = await scene().stage()
    const heard = await stage.chat({}, { keyed: 'k' })
    const id = heard.headers['agent-trace-id'] as string
    await scene().db.rows(sql`UPDATE usage_event SET trace = NULL WHERE trace_id = ${id}`)
    const { headers } = await traceOf(stage, heard)
    expect(toldAs(headers, 'header')).not.toEqual(agentIn(heard.headers))
  })

  test('§5.8 404 on the trace of another project, and on none at all', async () => {
    const [stage, other] = [await scene().stage(), await scene().stage()]
    const heard = await stage.chat()
    for (const id of [heard.headers['agent-trace-id'], 'trc_none'])
      expect((await other.get(`/v2/traces/${id}`)).status).toBe(404)
  })
})
