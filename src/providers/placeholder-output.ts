// What the stand-in says, and how much it says it took: the same for the same prompt, always (R53).
import { createHash } from 'node:crypto'
import { minimalInstance } from './minimal-instance.ts'

export type Body = Readonly<Record<string, unknown>>

export interface Output {
  /** A tool that must be called, or nothing: then the pieces are text. */
  tool: string | undefined
  /** One piece for each token. */
  pieces: string[]
  is_cut: boolean
}

export interface ToolChoice {
  name: string
  parameters: unknown
}

const CHOICES_MAX = 128
const BYTES_PER_TOKEN = 4

/** Says plainly what it is, so that nobody takes it for a model. */
export function outputFor(prompt: unknown, limit: unknown, asked: { tool?: ToolChoice | undefined; format?: unknown }) {
  const { tool } = asked
  const pieces = tool
    ? slices(JSON.stringify(minimalInstance(tool.parameters ?? {})))
    : (formatted(asked.format, prompt) ?? words(sentence(prompt)))
  const most = typeof limit === 'number' && limit >= 0 ? Math.floor(limit) : pieces.length
  const is_cut = pieces.length > most
  return { tool: tool?.name, pieces: pieces.slice(0, most), is_cut } satisfies Output
}

export const digestOf = (prompt: unknown) =>
  createHash('sha256')
    .update(JSON.stringify(prompt ?? null))
    .digest('hex')
    .slice(0, 12)

const sentence = (prompt: unknown) =>
  `No provider is configured on this server, so this is a placeholder. Digest of the prompt: ${digestOf(prompt)}.`

const words = (text: string) => text.match(/\S+\s*/g) ?? []
const slices = (text: string) => text.match(/.{1,4}/gsu) ?? []

/** Where JSON was asked for, JSON comes. */
function formatted(format: unknown, prompt: unknown): string[] | undefined {
  const { type, schema, json_schema } = (format ?? {}) as { type?: unknown; schema?: unknown; json_schema?: Body }
  if (type === 'json_object') return slices(JSON.stringify({ placeholder: true, digest: digestOf(prompt) }))
  if (type === 'json_schema') return slices(JSON.stringify(minimalInstance(schema ?? json_schema?.schema ?? {})))
  return undefined
}

export function tokensIn(prompt: unknown): number {
  return Math.max(1, Math.ceil(Buffer.byteLength(JSON.stringify(prompt ?? '')) / BYTES_PER_TOKEN))
}

export function choicesIn({ n }: Body): number[] {
  const count = typeof n === 'number' && n >= 1 ? Math.min(Math.floor(n), CHOICES_MAX) : 1
  return Array.from({ length: count }, (_, index) => index)
}

interface FunctionTool {
  type?: unknown
  name?: unknown
  parameters?: unknown
  function?: { name?: unknown; parameters?: unknown }
}

/** The function that must be called: by name, or the first where any will do. Chat nests them, Responses does not. */
export function toolToCall({ tools, tool_choice }: Body): ToolChoice | undefined {
  const functions = (Array.isArray(tools) ? (tools as (FunctionTool | null)[]) : []).flatMap((tool) => {
    const { name, parameters } = tool?.function ?? tool ?? {}
    return tool?.type === 'function' && typeof name === 'string' ? [{ name, parameters }] : []
  })
  if (tool_choice === 'required') return functions[0]
  if (typeof tool_choice !== 'object' || tool_choice === null) return undefined
  const choice = tool_choice as FunctionTool
  const wanted = choice.function?.name ?? choice.name
  return functions.find(({ name }) => name === wanted)
}

export const sse = (event: unknown) => Buffer.from(`data: ${JSON.stringify(event)}\n\n`)
export const DONE = Buffer.from('data: [DONE]\n\n')
