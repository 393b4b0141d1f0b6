// OpenAI's clients set no cache breakpoints, and without any Messages caches nothing. So they get some: behind the
// tools, behind the system text and, once there is a conversation, behind its last turn, which the next request
// repeats. Never where the client set one itself, and at most three of the four that there may be.
import type { Block, Turn } from './anthropic-messages.ts'

const EPHEMERAL = { type: 'ephemeral' } as const

type Marked = Record<string, unknown>

export function withBreakpoints(body: Record<string, unknown>): Record<string, unknown> {
  const { tools, system, messages } = body as { tools?: Marked[]; system?: Block[]; messages: Turn[] }
  if (
    body.cache_control !== undefined ||
    isMarked(tools) ||
    isMarked(system) ||
    messages.some(({ content }) => marksIn(content))
  )
    return body
  const turns = messages.length > 1 ? withLastMarked(messages) : messages
  return Object.assign(body, tools && { tools: lastMarked(tools) }, system && { system: lastMarked(system) }, {
    messages: turns,
  })
}

const isMarked = (list: readonly object[] | undefined) => list?.some((one) => 'cache_control' in one) ?? false

const marksIn = (content: readonly Block[]): boolean =>
  content.some((block) => 'cache_control' in block || (block.type === 'tool_result' && marksIn(block.content)))

const lastMarked = <T extends object>(list: readonly T[]): T[] =>
  list.map((one, at) => (at === list.length - 1 ? { ...one, cache_control: EPHEMERAL } : one))

/** One turn is a question that may never be asked again. */
function withLastMarked(turns: readonly Turn[]): Turn[] {
  return turns.map((turn, at) => (at === turns.length - 1 ? { ...turn, content: lastMarked(turn.content) } : turn))
}
