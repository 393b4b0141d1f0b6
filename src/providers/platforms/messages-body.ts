// A Messages request as a platform takes it: the client's bytes, without what the platform says in the path, and with
// what it wants said in the body. The tables are those of docs/MESSAGES.md.
import { fieldsOf, respelled } from '../../core/json-splice.ts'
import type { UpstreamRequest } from '../upstream.ts'

export interface PlatformForm {
  /** What the body names, which nobody may set otherwise. */
  anthropic_version: string
  /** Fields that are said elsewhere. */
  without: ReadonlySet<string>
  /** `anthropic-beta` goes into the body. */
  has_betas_in_body: boolean
  /** Which betas it takes; undefined is all. */
  betas: readonly string[] | undefined
}

const READ: ReadonlySet<string> = new Set(['model', 'stream', 'anthropic_version', 'anthropic_beta', 'max_tokens'])

export interface PlatformMessages {
  model: string
  stream: boolean
  has_limit: boolean
  body: Buffer
  /** Of the protocol's own headers, those that go along. */
  headers: Record<string, string>
  /** R75: what could not be said there. */
  left_out: string[]
}

export function platformMessages({ body, headers }: UpstreamRequest, form: PlatformForm): PlatformMessages {
  const json = body ?? Buffer.from('{}')
  const { model, stream, anthropic_version, anthropic_beta, max_tokens } = fieldsOf(json, READ)
  const asked = headers['anthropic-beta']?.split(',').map((one) => one.trim()) ?? []
  const taken = asked.filter((one) => one !== '' && (form.betas?.includes(one) ?? true))
  const refused = asked.filter((one) => one !== '' && !taken.includes(one))
  const added = {
    ...(anthropic_version === undefined && { anthropic_version: form.anthropic_version }),
    ...(form.has_betas_in_body && taken.length > 0 && anthropic_beta === undefined && { anthropic_beta: taken }),
  }
  return {
    model: String(model),
    stream: stream === true,
    has_limit: max_tokens !== undefined,
    body: respelled(json, form.without, added),
    headers: form.has_betas_in_body || taken.length === 0 ? {} : { 'anthropic-beta': taken.join(',') },
    left_out: [...refused.map((one) => `anthropic-beta: ${one}`), ...otherHeaders(headers)],
  }
}

/** The version is said in the body; of the rest nothing is known there. */
const otherHeaders = (headers: UpstreamRequest['headers']) =>
  Object.keys(headers).filter(
    (name) => name.startsWith('anthropic-') && name !== 'anthropic-version' && name !== 'anthropic-beta',
  )

interface Fate {
  fate: 'kept' | 'translated' | 'left out' | 'left out, and told'
  how: string
}

const BETAS = 'values that `betas` of the provider does not list are left out, and told.'
const OTHERS: Fate = { fate: 'left out, and told', how: 'Nothing is known of them there.' }
const QUERY: Fate = { fate: 'left out', how: '`?beta=true` says nothing there.' }
const REST: Fate = { fate: 'kept', how: 'As the bytes that came. What the platform does not take, it refuses by name.' }

export const BEDROCK_FIELDS: Readonly<Record<string, Fate>> = {
  model: { fate: 'translated', how: 'In the path, as the target calls it.' },
  stream: { fate: 'translated', how: '`InvokeModelWithResponseStream` where it is true, `InvokeModel` else.' },
  'anthropic-version': {
    fate: 'translated',
    how: '`anthropic_version`, `bedrock-2023-05-31`, unless the body has one.',
  },
  'anthropic-beta': { fate: 'translated', how: `\`anthropic_beta\` of the body, unless it has one; ${BETAS}` },
  'anthropic-*': OTHERS,
  '?…': QUERY,
  '*': REST,
}

export const VERTEX_FIELDS: Readonly<Record<string, Fate>> = {
  model: { fate: 'translated', how: 'In the path, as the target calls it; kept where tokens are counted.' },
  stream: { fate: 'kept', how: 'And `streamRawPredict` where it is true, `rawPredict` else.' },
  'anthropic-version': {
    fate: 'translated',
    how: '`anthropic_version`, `vertex-2023-10-16`, unless the body has one.',
  },
  'anthropic-beta': { fate: 'kept', how: `The header; ${BETAS}` },
  'anthropic-*': OTHERS,
  '?…': QUERY,
  '*': REST,
}
