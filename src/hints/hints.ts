// What an agent may ask of a call beside its body (§10.1, R46): reuse, quality of service, safety. In a header it is
// advice, and what is not understood is dropped; kept over the API it is checked, and refused where it is wrong.
import { type Static, type TSchema, Type } from 'typebox'
import { HOUR_MS, rfc3339, SECOND_MS } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import { Refusal } from '../core/refusal.ts'
import { Label, label, time } from '../core/shapes.ts'

const HEADER_MAX = 8 * 1024
const LONGEST_MS = 24 * HOUR_MS // far below 2^31 ms, above which a timer would fire at once (T-97)
const LONGEST_S = LONGEST_MS / SECOND_MS
const OUTPUT_TOKENS_MAX = 1_000_000

export const QOS_CLASSES = ['interactive', 'standard', 'background'] as const // R46
export type QosClass = (typeof QOS_CLASSES)[number]

const Count = (maximum: number, description: string) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum, description }))

const Reuse = Type.Object({
  preference: Type.Enum(['prefer', 'require', 'avoid'], { default: 'prefer' }),
  session_id: Type.Optional(Type.String({ pattern: '^ses_[0-9A-Za-z]{1,64}$', description: 'Begins `ses_`.' })),
  ttl_s: Count(LONGEST_S, 'For how long the prefix will be wanted again.'),
  expected_output_tokens: Count(OUTPUT_TOKENS_MAX, 'How long the answer will be, as far as the agent knows.'),
  prefetch_next_turn: Type.Optional(Type.Boolean({ description: 'Whether another turn follows at once.' })),
})

const Qos = Type.Object({
  class: Type.Enum([...QOS_CLASSES], { default: 'standard' }),
  target_ttft_ms: Count(LONGEST_MS, 'Time to the first token to aim at, from arrival.'),
  deadline_ms: Count(
    LONGEST_MS,
    'From arrival. Past it, before the first byte: 504, not charged. In mid-stream the call ends, free within ' +
      'what is waived in a day; beyond that it goes on and is charged.',
  ),
})

const Safety = Type.Object({
  tool_side_effect_mode: Type.Optional(Type.Enum(['external_commit_required'])),
  retry_safety: Type.Optional(Type.Enum(['idempotent_generation_only'])),
})

export const Hints = Type.Object(
  { reuse: Type.Optional(Reuse), qos: Type.Optional(Qos), safety: Type.Optional(Safety) },
  { title: 'Hints' },
)
export type Hints = Static<typeof Hints>

export const AgentHints = Type.Object(
  {
    id: Type.String({ description: 'Opaque, begins `ah_`; goes into `Agent-Hints-Ref`.' }),
    object: Type.Literal('agent_hints'),
    project_id: Type.String(),
    name: Type.Optional(Type.String()),
    hints: Hints,
    created_at: time(),
  },
  { title: 'AgentHints' },
)
export type AgentHints = Static<typeof AgentHints>

export const DeletedHints = Type.Object(
  { id: Type.String(), object: Type.Literal('agent_hints.deleted'), deleted: Type.Literal(true) },
  { title: 'DeletedAgentHints' },
)

const asked = {
  reuse: Type.Optional(Type.Partial(Reuse)),
  qos: Type.Optional(Type.Partial(Qos)),
  safety: Type.Optional(Safety),
}

export const NewHints = Type.Object(
  {
    name: Type.Optional(Label('What people call it.')),
    hints: Type.Optional(Type.Object(asked, { description: 'At least one of the sections.' })),
    ...asked,
  },
  { title: 'NewAgentHints', description: 'Sections stand under `hints`, or by themselves as `Agent-Hints` has them.' },
)
export type NewHints = Static<typeof NewHints>

export function createHints(project_id: string, body: NewHints, now: number): AgentHints {
  const hints = validateHints(body.hints ?? body)
  if (Object.keys(hints).length === 0)
    throw new Refusal('invalid_request', "'hints' must have at least one of 'reuse', 'qos' and 'safety'.")
  return {
    id: newId('ah'),
    object: 'agent_hints',
    project_id,
    ...(body.name !== undefined && { name: label('name', body.name) }),
    hints,
    created_at: rfc3339(now),
  }
}

/** Either alphabet, with padding or without: many a library has only one of them. */
const BASE64 = /^[A-Za-z0-9_+/-]+={0,2}$/ // Buffer would skip over anything else in silence (T-96)
const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * §10.1: whatever the header holds, this never throws. Undefined where there is no hints object in it at all. What is
 * not understood is left out, no more than that, and named in `ignored`.
 */
export function decodeHints(header: string | undefined, ignored: string[] = []): Hints | undefined {
  if (header === undefined) return undefined
  const value = header.length <= HEADER_MAX && BASE64.test(header) ? decoded(header) : undefined
  if (!isObject(value)) return void ignored.push('agent-hints')
  const onIgnored = (field: string) => void ignored.push(`agent-hints.${field}`)
  return readSections(value, { lenient: true, onUnknown: onIgnored, onWrong: onIgnored })
}

function decoded(header: string): unknown {
  try {
    return JSON.parse(utf8.decode(Buffer.from(header, 'base64')))
  } catch {
    return undefined
  }
}

/** For hints in a body: the first field that is wrong is named. */
export function validateHints(body: unknown): Hints {
  const refuse = (field: string, must: string) => {
    throw new Refusal('invalid_request', `'${field}' must be ${must}.`)
  }
  if (!isObject(body)) return refuse('hints', 'an object')
  return readSections(body, { lenient: false, onUnknown() {}, onWrong: refuse })
}

interface Manner {
  /** Bounds what is too long, instead of finding it wrong. */
  lenient: boolean
  /** Nobody knows it: left out (R9). */
  onUnknown(field: string): void
  /** Where it returns, the field is left out: an unknown class is `standard` (R46). */
  onWrong(field: string, must: string): void
}

type Fields = Record<string, unknown>

/** A field as its shape above has it, read once: hints come with every call. */
interface Field {
  name: string
  otherwise: unknown
  maximum: number
  must: string
  fits(value: unknown): boolean
}

const SECTIONS = [
  { section: 'reuse', fields: fieldsOf(Reuse.properties) },
  { section: 'qos', fields: fieldsOf(Qos.properties) },
  { section: 'safety', fields: fieldsOf(Safety.properties) },
]

function readSections(value: Fields, manner: Manner): Hints {
  const hints: Fields = {}
  for (const one of SECTIONS) {
    const given = value[one.section]
    if (given === undefined) continue
    if (isObject(given)) hints[one.section] = readFields(one, given, manner)
    else manner.onWrong(one.section, 'an object')
  }
  for (const name in value) if (!SECTIONS.some(({ section }) => section === name)) manner.onUnknown(name)
  return hints as Hints
}

type Section = (typeof SECTIONS)[number]

function readFields({ section, fields }: Section, given: Fields, manner: Manner): Fields {
  const read: Fields = {}
  for (const field of fields) {
    const { name, otherwise } = field
    const asked = manner.lenient ? bounded(field, given[name]) : given[name]
    if (asked !== undefined && field.fits(asked)) read[name] = asked
    else if (otherwise !== undefined) read[name] = otherwise
    if (asked !== undefined && read[name] !== asked) manner.onWrong(`${section}.${name}`, field.must)
  }
  for (const name in given) if (!fields.some((field) => field.name === name)) manner.onUnknown(`${section}.${name}`)
  return read
}

const bounded = ({ maximum }: Field, value: unknown) =>
  Number.isInteger(value) && (value as number) > maximum ? maximum : value

function fieldsOf(shapes: Record<string, TSchema>): Field[] {
  return Object.entries<Bounds>(shapes).map(([name, bounds]) => {
    const { default: otherwise, maximum = Infinity } = bounds
    return { name, otherwise, maximum, ...checkOf(bounds) }
  })
}

interface Bounds extends TSchema {
  default?: unknown
  type?: string
  enum?: readonly unknown[]
  maximum?: number
  pattern?: string
}

function checkOf({ type, enum: values, maximum = Infinity, pattern = '' }: Bounds): Pick<Field, 'must' | 'fits'> {
  if (values) return { must: `one of '${values.join("', '")}'`, fits: (value) => values.includes(value) }
  if (type === 'boolean') return { must: 'true or false', fits: (value) => typeof value === 'boolean' }
  if (type === 'integer') {
    const fits = (value: unknown) => Number.isInteger(value) && (value as number) >= 1 && (value as number) <= maximum
    return { must: `an integer from 1 to ${maximum}`, fits }
  }
  const form = new RegExp(pattern)
  return { must: `a text of the form ${pattern}`, fits: (value) => typeof value === 'string' && form.test(value) }
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
