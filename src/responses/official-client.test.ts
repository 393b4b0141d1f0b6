// The official client takes what is made here, as it is: whole, streamed, failed, parsed, paged.
import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { responseEvents } from './event-stream.ts'
import { responseFrom } from './from-chat.ts'
import { listItems, readItemsPage } from './response-items.ts'
import { readResponseRequest } from './response-request.ts'
import { chatRequestFrom } from './to-chat.ts'

const IDS = { response_id: 'resp_abc', created_at_s: 1_760_000_000 }
const PART_BYTES = 17 // small and odd: characters and lines are cut in their middle

type Chat = { whole: object } | { stream: string }

/** The client, with an upstream behind it that says `chat` to whatever it is asked; and what that was. */
function clientOf(chat: Chat) {
  const asked: object[] = []
  const fetch = async (_url: unknown, init?: { body?: unknown }) => {
    const request = readResponseRequest(JSON.parse(String(init?.body)))
    asked.push(chatRequestFrom(request, []))
    if ('whole' in chat) return Response.json(responseFrom(chat.whole, request, IDS))
    const events = responseEvents(request, IDS)
    const parts =
      Buffer.from(chat.stream)
        .toString('latin1')
        .match(new RegExp(`[^]{1,${PART_BYTES}}`, 'g')) ?? []
    const out = [...parts.map((part) => events.push(Buffer.from(part, 'latin1'))), events.end()]
    return new Response(Buffer.concat(out), { headers: { 'content-type': 'text/event-stream' } })
  }
  return { client: new OpenAI({ apiKey: 'x', baseURL: 'http://upstream.test/v1', maxRetries: 0, fetch }), asked }
}

const USAGE = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 }
const data = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`
const chunk = (delta: object, finish_reason: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason }],
})
const said = (...deltas: object[]) =>
  deltas.map((delta) => data(chunk(delta))).join('') +
  data(chunk({}, 'stop')) +
  data({ choices: [], usage: USAGE }) +
  'data: [DONE]\n\n'
const whole = (message: object) => ({ choices: [{ message, finish_reason: 'stop' }], usage: USAGE })

test('§7.2 client: a response, with the text that the client puts together itself', async () => {
  const { client, asked } = clientOf({ whole: whole({ content: 'Grüße' }) })
  const response = await client.responses.create({ model: 'm', input: 'Hello', instructions: 'Be brief.' })
  expect([response.output_text, response.status, response.usage?.total_tokens]).toEqual(['Grüße', 'completed', 12])
  expect(asked).toMatchObject([{ messages: [{ role: 'system' }, { role: 'user', content: 'Hello' }] }])
})

test('§7.2 client: a stream, event by event and put together', async () => {
  const { client } = clientOf({ stream: said({ content: 'Grü' }, { content: 'ße 😀' }) })
  const stream = client.responses.stream({ model: 'm', input: 'Hello' })
  const snapshots: string[] = []
  stream.on('response.output_text.delta', ({ snapshot }) => snapshots.push(snapshot))
  const response = await stream.finalResponse()
  expect(snapshots).toEqual(['Grü', 'Grüße 😀'])
  expect([response.output_text, response.usage?.input_tokens]).toEqual(['Grüße 😀', 9])
})

test('§7.2 client: what it puts together of every event is what the last event says', async () => {
  const call = (index: number, name: string, args: string) => ({
    tool_calls: [{ index, id: `call_${index}`, type: 'function', function: { name, arguments: args } }],
  })
  const more = (index: number, args: string) => ({ tool_calls: [{ index, function: { arguments: args } }] })
  const everything = said(
    { reasoning_content: 'Hm' },
    { reasoning_content: 'mm' },
    { content: 'a' },
    { refusal: 'No' },
    call(0, 'f', ''),
    more(0, '{"a"'),
    call(1, 'g', '{}'),
    more(0, ':1}'),
  )
  const { client } = clientOf({ stream: everything })
  let assembled: OpenAI.Responses.ResponseOutputItem[] = []
  let final: OpenAI.Responses.Response | undefined
  for await (const event of await client.responses.create({ model: 'm', input: 'x', stream: true })) {
    if (event.type === 'response.output_item.done') assembled = [...assembled, event.item]
    if (event.type === 'response.completed') final = event.response
  }
  expect(assembled).toEqual(final?.output)
  const streamed = await clientOf({ stream: everything })
    .client.responses.stream({ model: 'm', input: 'x' })
    .finalResponse()
  expect(streamed.output).toMatchObject(final?.output ?? [])
})

test('§7.2 client: a function is called, and its output goes back', async () => {
  const tool = { type: 'function', name: 'f', parameters: { type: 'object' }, strict: true } as const
  const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"city":"Bern"}' } }
  const { client, asked } = clientOf({ whole: whole({ content: null, tool_calls: [call] }) })
  const first = await client.responses.parse({ model: 'm', input: 'Weather?', tools: [tool] })
  const [called] = first.output
  expect(called).toMatchObject({ type: 'function_call', parsed_arguments: { city: 'Bern' } })
  const output = { type: 'function_call_output', call_id: 'call_1', output: 'rain' } as const
  const items = first.output.map(({ ...item }) => item) as OpenAI.Responses.ResponseInputItem[]
  await client.responses.create({ model: 'm', input: [{ role: 'user', content: 'Weather?' }, ...items, output] })
  expect(asked[1]).toMatchObject({
    messages: [{ role: 'user' }, { role: 'assistant', tool_calls: [call] }, { role: 'tool', tool_call_id: 'call_1' }],
  })
})

test('§7.2 client: an answer in a schema is parsed', async () => {
  const format = { type: 'json_schema', name: 'n', schema: { type: 'object' } } as const
  const { client, asked } = clientOf({ whole: whole({ content: '{"a":1}' }) })
  const response = await client.responses.create({ model: 'm', input: 'x', text: { format } })
  expect(JSON.parse(response.output_text)).toEqual({ a: 1 })
  expect(asked).toMatchObject([{ response_format: { type: 'json_schema', json_schema: { name: 'n' } } }])
})

test('R47 client: a stream that breaks off is seen to have failed', async () => {
  const { client } = clientOf({ stream: data(chunk({ content: 'Hel' })) })
  const types: string[] = []
  for await (const { type } of await client.responses.create({ model: 'm', input: 'x', stream: true })) types.push(type)
  expect(types.slice(-2)).toEqual(['error', 'response.failed'])
  const stream = clientOf({ stream: '' }).client.responses.stream({ model: 'm', input: 'x' })
  await expect(stream.finalResponse()).rejects.toMatchObject({ type: 'error', code: 'upstream_error' })
})

test('§8.2 client: input items, page after page', async () => {
  const items = Array.from({ length: 7 }, (_, at) => ({ id: `msg_${at}`, type: 'message', role: 'user', content: [] }))
  const fetch = async (url: string | URL | Request) =>
    Response.json(listItems(items, readItemsPage(Object.fromEntries(new URL(String(url)).searchParams))))
  const client = new OpenAI({ apiKey: 'x', baseURL: 'http://upstream.test/v1', fetch })
  const seen: unknown[] = []
  for await (const { id } of client.responses.inputItems.list('resp_abc', { limit: 3, order: 'asc' })) seen.push(id)
  expect(seen).toEqual(items.map(({ id }) => id))
})
