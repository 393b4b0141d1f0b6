// R77, §10.3: a stream that comes to more than is read of one breaks off, and what came of it is charged: how large it
// is, in choices and probabilities, is for its client to ask, and no token is free.
import { expect, test } from 'vitest'
import { BUDGETS } from '../../src/core/foreign.ts'
import { withScene } from '../support/inference-scene.ts'

const TOKENS = 1_000
const SAID = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'x'.repeat(4 * TOKENS) } }] })}\n\n`
const END = 'data: [DONE]\n\n'
const padded = (bytes: number) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, logprobs: ' '.repeat(bytes) }] })}\n\n`
const EVENTS = { 'content-type': 'text/event-stream' }

withScene((scene) => {
  test.each([
    ['not keyed', {}],
    ['keyed', { keyed: 'k' }],
  ])(
    'R77 §10.3 %s: what came before an event that is too large is charged, and the key is free',
    async (_what, asking: { keyed?: string }) => {
      const stage = await scene().stage({ key: 1_000_000 })
      stage.one.behave({ body: SAID + padded(BUDGETS.event.bytes) + END, headers: EVENTS })
      const { text, trailers } = await stage.chat({ stream: true }, asking)
      expect(text).toContain('broke off: its answer was too large. What had come was charged.')
      const { spent, held, events } = await stage.audit()
      const [event] = events
      expect(event).toMatchObject({ status: 'upstream_failed', output_tokens: TOKENS, tokens_estimated: 1 })
      expect(event?.charged_micros).toBeGreaterThanOrEqual(2 * TOKENS)
      expect([spent, held, trailers['agent-charged-micros']]).toEqual([event?.charged_micros, 0, String(spent)])
      if (asking.keyed) expect(await stage.keyState(asking.keyed)).toBe('free')
    },
  )

  test('R77 §10.3 nothing is charged where it is too large before any content', async () => {
    const stage = await scene().stage({ key: 1_000_000 })
    stage.one.behave({ body: padded(BUDGETS.event.bytes) + SAID + END, headers: EVENTS })
    expect((await stage.chat({ stream: true })).status).toBe(502)
    expect(await stage.audit()).toMatchObject({ spent: 0, held: 0 })
  })

  test('§10.3 nothing is charged where the upstream breaks off by itself', async () => {
    const stage = await scene().stage({ key: 1_000_000 })
    stage.one.behave({ body: SAID, headers: EVENTS })
    expect((await stage.chat({ stream: true })).text).toContain('broke off. Nothing was charged.')
    expect(await stage.audit()).toMatchObject({ spent: 0, held: 0 })
  })
})
