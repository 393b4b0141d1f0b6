// §7.2, R43: items that a request only points at: they are bounded by what they come to, and counted, held for and sent as
// what they say.
import { expect, test } from 'vitest'
import { holdFor, PRICES, type Stage, withScene } from '../support/inference-scene.ts'
import { deferred } from '../support/tampered-db.ts'
import type { TestUpstream } from '../support/upstream.ts'

const RESPONSES = '/v1/responses'
const MIB = 2 ** 20
const LIMIT = 10_000_000
const model = (id: string) => ({ id, ...PRICES, max_output_tokens: 100 })
const config = (one: TestUpstream) => ({
  providers: [
    { id: 'native', api_key: 'sk', base_url: one.base_url, responses: true, models: [model('native')] },
    { id: 'chat', api_key: 'sk', base_url: one.base_url, models: [model('chat')] },
  ],
})

withScene(
  (scene) => {
    /** The item that a stored response was asked with. */
    async function askedWith(stage: Stage, text: string) {
      const { json } = await stage.ask(RESPONSES, { body: { model: 'chat', input: text } })
      stage.one.requests.length = 0
      const content = [{ type: 'input_text', text }]
      return { type: 'message', role: 'user', content, status: 'completed', id: `${json.id.replace('resp', 'msg')}_i0` }
    }
    const next = { role: 'user', content: 'and then?' }

    test.each([false, true])(
      '§7.2 one item again and again, streamed: %s: 400, nobody is asked, and nothing is booked',
      async (stream) => {
        const stage = await scene().stage()
        const { id } = await askedWith(stage, 'x'.repeat(MIB))
        const body = { model: 'chat', stream, store: false, input: Array(40).fill({ id }) }
        const { status, json } = await stage.ask(RESPONSES, { body })
        expect([status, json?.error.message]).toEqual([
          400,
          "'input' points at more than 33554432 bytes of conversation.",
        ])
        expect(stage.one.requests).toEqual([])
        const { events, held } = await stage.audit()
        expect([events.length, held]).toEqual([1, 0])
      },
    )

    test.each(['chat', 'native'])(
      'R43 what is pointed at is held for by what it says, and goes out as that: to an upstream of %s',
      async (model) => {
        const stage = await scene().stage({ key: LIMIT })
        const item = await askedWith(stage, 'x'.repeat(20_000))
        const gate = deferred()
        stage.one.next({ wait: gate.promise })
        const call = stage.open(RESPONSES, { body: { model, store: false, input: [{ id: item.id }, next] } })
        const { body } = await stage.one.request(1)
        expect(body.input ?? body.messages).toEqual(
          model === 'native' ? [item, next] : [{ role: 'user', content: item.content[0]?.text }, next],
        )
        const { held } = await stage.ledger()
        expect(held).toBe(holdFor({ model, store: false, input: [item, next] }, 100))
        gate.resolve()
        expect((await call.heard).status).toBe(200)
        await stage.audit()
      },
    )

    test('R43 where there is no limit it goes to a native upstream all the same, which knows nothing of our ids', async () => {
      const stage = await scene().stage()
      const item = await askedWith(stage, 'What is in a name?')
      const input = [{ type: 'item_reference', id: item.id }, next]
      expect((await stage.ask(RESPONSES, { body: { model: 'native', input } })).status).toBe(200)
      const theirs = [{ type: 'item_reference', id: 'msg_theirs' }, next]
      expect((await stage.ask(RESPONSES, { body: { model: 'native', input: theirs } })).status).toBe(200)
      expect(stage.one.requests.map(({ body }) => body.input)).toEqual([[item, next], theirs])
    })

    test('§4.11 tokens are counted of it, and not of the pointer', async () => {
      const stage = await scene().stage()
      const item = await askedWith(stage, 'What is in a name?')
      stage.one.behave({ body: { input_tokens: 9 } })
      const body = { model: 'native', input: [{ id: item.id }] }
      expect((await stage.ask(`${RESPONSES}/input_tokens`, { body })).status).toBe(200)
      expect(stage.one.requests.map((request) => request.body.input)).toEqual([[item]])
    })
  },
  { stages: 10, config },
)
