// A prompt in the order in which a provider's cache sees it: tools, instructions, then message by message. Only what
// becomes part of a prompt is looked at, by name: not how it is sampled, nor the ids under which we keep it. So the
// same words are the same pieces, whether a client sends them or a stored response brings them back.

/** In two parts, for a long text is not to be copied behind its head. */
export interface Piece {
  head: string
  text: string
}

type Fields = Readonly<Record<string, unknown>>
/** False where nothing more is wanted. */
type Take = (piece: Piece) => boolean

/** What a message or an item says beside its content. */
const SAID_BESIDE = [
  'name',
  'tool_calls',
  'tool_call_id',
  'function_call',
  'call_id',
  'arguments',
  'output',
  'refusal',
  'reasoning_content',
  'summary',
  'encrypted_content',
  'action',
  'result',
] as const

/** Below this, whatever a body holds is written out in a millisecond or two. */
const WALKED_BYTES_MAX = 64 * 1024
/** A list of tools has some thousands. */
const MEMBERS_MAX = 50_000
const TOKENS_MAX = 262_144
/** Of empty ones, too, no more are looked at. */
const MESSAGES_MAX = 8_192

/** Keys stay in the order received: providers match the rendered prompt, and sorting would hide a real cache break. */
export function promptPieces(json: Fields, body_bytes: number, take: Take): void {
  const { tools, system, instructions, messages, input, prompt } = json
  const write = writer(body_bytes)
  if (tools !== undefined && !take({ head: 'tools ', text: write(tools) })) return
  if (system !== undefined && !takeMessage({ role: 'system', content: system }, write, take)) return
  if (typeof instructions === 'string' && !take({ head: 'instructions ', text: instructions })) return
  const said = messages ?? input ?? prompt
  if (typeof said === 'string') take({ head: 'user ', text: said })
  else if (Array.isArray(said) && typeof said[0] === 'number') takeMessage(said, write, take)
  else if (Array.isArray(said))
    for (const one of said.slice(0, MESSAGES_MAX)) if (!takeMessage(one, write, take)) return
}

type Write = (value: unknown) => string

const tokensIn = (tokens: readonly unknown[], write: Write) =>
  tokens
    .slice(0, TOKENS_MAX)
    .map((token) => (typeof token === 'number' ? token : write(token)))
    .join(',')

/** A client may put anything there, an object that no text can be made of as well. */
const nameOf = (value: unknown) => (typeof value === 'string' ? value : '')

/** "text" and [{type: "text", text: "text"}] are the same prompt. */
function takeMessage(message: unknown, write: Write, take: Take): boolean {
  if (typeof message !== 'object' || message === null) return take({ head: 'user ', text: String(message) })
  if (Array.isArray(message)) return take({ head: 'tokens ', text: tokensIn(message, write) })
  const fields = message as Fields
  const { role, type, content } = fields
  let head = `${nameOf(role) || nameOf(type)} `
  if (typeof content === 'string') {
    if (!take({ head, text: content })) return false
    head = '& '
  } else if (Array.isArray(content))
    for (const part of content) {
      if (!take(pieceOf(head, part, write))) return false
      head = '& '
    }
  for (const name of SAID_BESIDE) {
    const value = fields[name]
    if (value === undefined || value === null) continue
    if (!take({ head: `${head}${name} `, text: typeof value === 'string' ? value : write(value) })) return false
    head = '& '
  }
  return true
}

function pieceOf(head: string, part: unknown, write: Write): Piece {
  if (typeof part !== 'object' || part === null) return { head, text: String(part) }
  const { type, text, image_url, file_data } = part as Fields
  if (typeof text === 'string') return { head, text }
  const address = (image_url as Fields | undefined)?.url ?? image_url ?? file_data
  return typeof address === 'string' ? { head: `${head}${nameOf(type)} `, text: address } : { head, text: write(part) }
}

const TOO_MUCH = 'too much to tell apart'

/** Values as JSON; of a large body, no more of them in all than has a bound. */
function writer(body_bytes: number): Write {
  if (body_bytes <= WALKED_BYTES_MAX) return (value) => JSON.stringify(value)
  const left = { members: MEMBERS_MAX }
  return (value) => (isWithin(value, left) ? JSON.stringify(value) : TOO_MUCH)
}

/** Stops at the first member too many. */
function isWithin(value: unknown, left: { members: number }): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) {
    left.members -= value.length
    return left.members >= 0 && value.every((one) => isWithin(one, left))
  }
  for (const name in value) if (--left.members < 0 || !isWithin((value as Fields)[name], left)) return false
  return true
}
