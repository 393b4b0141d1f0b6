// Where a replay run sends its calls, and what it changes of them. Whatever it does not name stays as it was recorded.
import { type Static, Type } from 'typebox'
import { BUDGETS, jsonWithin } from '../core/foreign.ts'
import { jsonBytes } from '../core/json-writing.ts'
import { Refusal } from '../core/refusal.ts'
import { label, storable } from '../core/shapes.ts'
import type { AliasTarget } from '../models/alias.ts'

const OVERRIDES_MAX = 32
const OVERRIDES_BYTES_MAX = 16 * 1024
const ID_MAX = 64

export const ReplayTarget = Type.Object(
  {
    model: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: 'A model or an alias.' })),
    alias_release_id: Type.Optional(
      Type.String({ minLength: 1, maxLength: ID_MAX, description: 'A release, activated or not.' }),
    ),
    cluster_id: Type.Optional(
      Type.String({ minLength: 1, maxLength: ID_MAX, description: 'Only this cluster; may go with `model`.' }),
    ),
  },
  { title: 'ReplayTarget', additionalProperties: false, description: 'At least one of them.' },
)
export type ReplayTarget = Static<typeof ReplayTarget>

export const Overrides = Type.Record(Type.String({ maxLength: 64 }), Type.Unknown(), {
  maxProperties: OVERRIDES_MAX,
  description: 'Fields of the body that are to be others, such as `temperature`; null leaves a field out.',
})
export type Overrides = Static<typeof Overrides>

/** What is said, how it is sent and what is kept is the recorded call's own, or this service's. */
const NOT_OVERRIDDEN = [
  ...['model', 'messages', 'input', 'prompt', 'system', 'instructions', 'previous_response_id', 'conversation'],
  ...['stream', 'stream_options', 'store', 'background', 'prompt_cache_key'],
]

/** A release as far as a call is routed by it. */
export interface TestedRelease {
  id: string
  alias_name: string
  targets: readonly AliasTarget[]
}

export function checkTarget({ model, alias_release_id, cluster_id }: ReplayTarget): ReplayTarget {
  if ((model ?? alias_release_id ?? cluster_id) === undefined)
    throw wrong('target', "name a 'model', an 'alias_release_id' or a 'cluster_id'")
  if (alias_release_id !== undefined && (model ?? cluster_id) !== undefined)
    throw wrong('target.alias_release_id', 'stand alone: the release says which models and clusters are asked')
  return {
    ...(model !== undefined && { model: label('target.model', model) }),
    ...(alias_release_id !== undefined && { alias_release_id: storable('target.alias_release_id', alias_release_id) }),
    ...(cluster_id !== undefined && { cluster_id: storable('target.cluster_id', cluster_id) }),
  }
}

export function checkOverrides(overrides: Overrides): Overrides {
  const text = JSON.stringify(overrides)
  if (Buffer.byteLength(text) > OVERRIDES_BYTES_MAX) throw wrong('overrides', 'have at most 16 KiB')
  for (const name of Object.keys(overrides)) {
    storable('overrides', name)
    if (NOT_OVERRIDDEN.includes(name)) throw wrong(`overrides.${name}`, 'be left out: it stays as it was recorded')
  }
  storable('overrides', text)
  return overrides
}

/** What an arm changes of a recorded body. The control changes nothing. */
export interface Changes {
  model?: string | undefined
  overrides?: Overrides | null | undefined
}

const RESPONSES = /\/responses$/

/** The same bytes where nothing is changed; else in steps (R77). Nothing of a replay is stored as a response. */
export async function replayedBody(recorded: { endpoint: string; request: Uint8Array }, changes: Changes) {
  const bytes = Buffer.from(recorded.request.buffer, recorded.request.byteOffset, recorded.request.byteLength)
  const is_response = RESPONSES.test(recorded.endpoint)
  const { model, overrides } = changes
  if (model === undefined && !overrides && !is_response) return bytes
  const body = (await jsonWithin(BUDGETS.generation, bytes)) as Record<string, unknown>
  if (is_response) body.store = false
  if (model !== undefined) body.model = model
  for (const [name, value] of Object.entries(overrides ?? {}))
    if (value === null) delete body[name]
    else Object.defineProperty(body, name, { value, enumerable: true, configurable: true, writable: true })
  return jsonBytes(body, bytes.length)
}

const wrong = (field: string, must: string) => new Refusal('invalid_request', `'${field}' must ${must}.`)
