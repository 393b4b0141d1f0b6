// Codex over chat: freeform tools, groups of tools and the local shell as functions, and back.
import { expect, test } from 'vitest'
import { chatNameOf, clientTools } from './client-tools.ts'
import { responseEvents } from './event-stream.ts'
import { responseFrom } from './from-chat.ts'
import { readResponseRequest } from './response-request.ts'
import { chatRequestFrom, leftOutOf } from './to-chat.ts'

const IDS = { response_id: 'resp_0123456789abcdefghij', created_at_s: 1 }
const patch = {
  type: 'custom',
  name: 'apply_patch',
  description: 'Edits files.',
  format: { type: 'grammar', syntax: 'lark', definition: 'start: X' },
}
const agents = {
  type: 'namespace',
  name: 'agents',
  description: 'Sub-agents.',
  tools: [
    { type: 'function', name: 'close', description: 'Ends one.', parameters: { type: 'object' }, strict: false },
    { type: 'custom', name: 'note' },
  ],
}
const plain = { type: 'function', name: 'exec', parameters: { type: 'object' } }
const tools = [plain, patch, agents, { type: 'local_shell' }, { type: 'web_search', external_web_access: false }]
const request = (more: object = {}) => readResponseRequest({ model: 'm', input: 'Hi', tools, ...more })

test('§9.1 freeform tools, groups and the shell are functions of chat; hosted search is left out, and told', () => {
  const { tools: functions } = chatRequestFrom(request({ client_metadata: { a: 1 } }), []) as unknown as {
    tools: { function: { name: string; description?: string; parameters: { required?: string[] } } }[]
  }
  expect(functions.map((one) => one.function.name)).toEqual([
    'exec',
    'apply_patch',
    'agents__close',
    'agents__note',
    'local_shell',
  ])
  expect(functions[1]?.function).toMatchObject({
    description: 'Edits files.\n\nThe input must match this grammar (lark):\n\nstart: X',
    parameters: { required: ['input'] },
  })
  expect(functions[2]?.function).toMatchObject({ description: 'Sub-agents.\n\nEnds one.', strict: false })
  expect(leftOutOf(request({ client_metadata: { a: 1 } }))).toEqual(['tools[4]', 'client_metadata'])
  expect(chatRequestFrom(request({ client_metadata: { a: 1 } }), [])).not.toHaveProperty('client_metadata')
})

const call = (index: number, name: string, args: string) => ({
  index,
  id: `call_${index}`,
  type: 'function',
  function: { name, arguments: args },
})
const CALLS = [
  call(0, 'apply_patch', '{"input":"*** Begin \\"x\\"\\n"}'),
  call(1, 'agents__close', '{"target":"a"}'),
  call(2, 'local_shell', '{"command":["ls","-l"],"timeout_ms":5}'),
  call(3, 'exec', '{}'),
  call(4, 'agents__note', 'no json'),
]
const id = (prefix: string, at: number) => `${prefix}_0123456789abcdefghij_${at}`
const status = 'completed'
const OUTPUT = [
  {
    id: id('fc', 0),
    type: 'custom_tool_call',
    status,
    call_id: 'call_0',
    name: 'apply_patch',
    input: '*** Begin "x"\n',
  },
  {
    id: id('fc', 1),
    type: 'function_call',
    status,
    call_id: 'call_1',
    name: 'close',
    namespace: 'agents',
    arguments: '{"target":"a"}',
  },
  {
    id: id('fc', 2),
    type: 'local_shell_call',
    status,
    call_id: 'call_2',
    action: { type: 'exec', command: ['ls', '-l'], env: {}, timeout_ms: 5 },
  },
  { id: id('fc', 3), type: 'function_call', status, call_id: 'call_3', name: 'exec', arguments: '{}' },
  {
    id: id('fc', 4),
    type: 'custom_tool_call',
    status,
    call_id: 'call_4',
    name: 'note',
    namespace: 'agents',
    input: 'no json',
  },
]

test('§9.1 calls come back as the client knows its tools', () => {
  const message = { role: 'assistant', content: null, tool_calls: CALLS }
  const completion = { model: 'm', choices: [{ message, finish_reason: 'tool_calls' }] }
  expect(responseFrom(completion, request(), IDS).output).toEqual(OUTPUT)
})

test('§9.1 streamed, in pieces: the same items, with the events that a client of them waits for', () => {
  const events = responseEvents(request({ stream: true }), IDS)
  const chunk = (delta: object) =>
    Buffer.from(`data: ${JSON.stringify({ model: 'm', choices: [{ index: 0, delta }] })}\n\n`)
  const pieces = CALLS.flatMap(({ index, id, function: { name, arguments: args } }) => [
    chunk({ tool_calls: [{ index, id, function: { name, arguments: args.slice(0, 4) } }] }),
    chunk({ tool_calls: [{ index, function: { arguments: args.slice(4) } }] }),
  ])
  const text = [
    ...pieces.map((piece) => events.push(piece)),
    events.push(Buffer.from('data: [DONE]\n\n')),
    events.end(),
  ].join('')
  expect(events.response().output).toEqual(OUTPUT)
  const told = text
    .split('\n\n')
    .flatMap((one) => (one.includes('data: ') ? [JSON.parse(one.slice(one.indexOf('data: ') + 6))] : []))
  const of = (type: string) => told.filter((event) => event.type === type)
  expect(of('response.custom_tool_call_input.done').map(({ input }) => input)).toEqual(['*** Begin "x"\n', 'no json'])
  expect(of('response.function_call_arguments.done')).toHaveLength(2)
  expect(of('response.output_item.done').map(({ item }) => item)).toEqual(OUTPUT)
  for (const { output_index } of of('response.function_call_arguments.delta')) expect([1, 3]).toContain(output_index)
})

test('§9.1 what was called, and what came of it, goes back under the same names', () => {
  const outputs = [
    { type: 'custom_tool_call_output', call_id: 'call_0', output: 'done' },
    { type: 'function_call_output', call_id: 'call_1', output: 'closed' },
    { type: 'local_shell_call_output', id: 'call_2', output: 'files' },
    { type: 'function_call_output', call_id: 'call_3', output: '' },
    { type: 'custom_tool_call_output', call_id: 'call_4', output: 'noted' },
  ]
  const { messages } = chatRequestFrom(request({ input: [...OUTPUT, ...outputs] }), [])
  const [assistant, ...results] = messages
  expect(assistant?.tool_calls?.map((one) => one.function)).toEqual([
    { name: 'apply_patch', arguments: '{"input":"*** Begin \\"x\\"\\n"}' },
    { name: 'agents__close', arguments: '{"target":"a"}' },
    { name: 'local_shell', arguments: '{"command":["ls","-l"],"env":{},"timeout_ms":5}' },
    { name: 'exec', arguments: '{}' },
    { name: 'agents__note', arguments: '{"input":"no json"}' },
  ])
  expect(results.map((one) => one.tool_call_id)).toEqual(['call_0', 'call_1', 'call_2', 'call_3', 'call_4'])
})

test.each([
  [{ type: 'custom', name: 'apply_patch' }, 'apply_patch'],
  [{ type: 'function', name: 'close', namespace: 'agents' }, 'agents__close'],
  [{ type: 'local_shell' }, 'local_shell'],
])('§9.1 the choice of %j', (tool_choice, name) => {
  expect(chatRequestFrom(request({ tool_choice }), []).tool_choice).toEqual({ type: 'function', function: { name } })
})

test.each([
  ['code_interpreter', { tools: [{ type: 'code_interpreter' }] }, "'tools[0]'"],
  ['a hosted tool in a group', { tools: [{ ...agents, tools: [{ type: 'mcp' }] }] }, "'tools[0].tools[0]'"],
  ['two of one name', { tools: [plain, plain] }, "'tools[1].name'"],
  ['a group without a name', { tools: [{ type: 'namespace', tools: [] }] }, "'tools[0].name'"],
  ['a search that must be run', { tool_choice: { type: 'web_search' } }, "'tool_choice'"],
])('§7 400: %s is refused by its place', (_what, more, named) => {
  expect(() => chatRequestFrom(request(more), [])).toThrow(named)
})

test('§9.1 names that are too long for a function are shortened, each to its own', () => {
  const [one, other] = ['a', 'b'].map((end) => chatNameOf('f'.repeat(40) + end, 'n'.repeat(40)))
  expect([one?.length, one === other]).toEqual([64, false])
  const tools = [{ type: 'namespace', name: 'n'.repeat(40), tools: [{ type: 'function', name: `${'f'.repeat(40)}a` }] }]
  expect([...clientTools({ tools }).named.keys()]).toEqual([one])
})
