// Requests for the fuzzer, each with what it must be answered: made from the operations of the OpenAPI document.
import { Compile } from 'typebox/schema'
import { type Dice, HOSTILE, hostileValue, mutatedValue, oddJson, type Schema, validValue } from './fuzz-values.ts'
import { isOperators } from './routes.ts'

export interface Operation {
  method: string
  path: string
  pattern: RegExp
  params: string[]
  body: { schema: Schema; accepts(value: unknown): boolean } | undefined
  isPublic: boolean
  /** Its answer comes from an upstream, which may be away: that is no fault of ours. */
  generates: boolean
  /** Part of the contract: what the schema accepts, its rules accept too. */
  strict: boolean
}

export interface Input {
  kind: Kind
  operation: Operation
  method: string
  url: string
  headers: Record<string, string>
  payload?: string | Buffer
  /** The statuses it may be answered with; undefined: anything but a server error. */
  expected: readonly number[] | undefined
  /** The ids it names. */
  ids: Record<string, string>
}

/** What there is to name in the project that is being fuzzed. */
export interface Scene {
  key: string
  ids: Record<string, string[]>
  /** Keys that are right in form and nobody's. */
  strangers: string[]
}

// What a key may be beyond the contract depends on more than its schema can say: other keys, time, what is left.
const CONTRACT =
  /^\/v2\/(api-keys(\/\{key_id\}(\/(budget|limits))?)?$|byoc\/(clusters(\/\{cluster_id\}(\/heartbeat)?)?|hicache-plan)$)/
const GENERATES = /^\/(v1|openai|anthropic\/v1)\/|^\/v2\/responses$/ // or counts: prompts go there
const BODY_MAX = 64 * 1024

type Paths = Record<
  string,
  Record<string, { parameters?: { in: string; name: string }[]; requestBody?: unknown; security?: unknown[] }>
>

export function operationsOf({ paths }: { paths: Paths }): Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters = [], requestBody, security }]) => {
      const { content } = (requestBody ?? {}) as { content?: Record<string, { schema: Schema }> }
      const schema = content?.['application/json']?.schema
      const check = schema && Compile(schema)
      return {
        method: method.toUpperCase(),
        path,
        pattern: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`),
        params: parameters.filter((one) => one.in === 'path').map((one) => one.name),
        body: schema && check && { schema, accepts: (value) => check.Check(value) },
        isPublic: security?.length === 0,
        generates: method === 'post' && GENERATES.test(path),
        strict: CONTRACT.test(path) && method !== 'patch',
      }
    }),
  )
}

const KINDS = {
  valid: 20,
  mutated: 25,
  hostile: 10,
  'odd json': 15,
  'odd header': 10,
  'wrong method': 5,
  'no key': 7,
  'odd id': 8,
} as const
export type Kind = keyof typeof KINDS
const KIND_BAG = Object.entries(KINDS).flatMap(([kind, weight]) => Array<Kind>(weight).fill(kind as Kind))

const BODY_KINDS: readonly Kind[] = ['mutated', 'hostile', 'odd json']

export function inputFor(operations: readonly Operation[], scene: Scene, dice: Dice): Input {
  const kind = dice.pick(KIND_BAG)
  const operation = dice.pick(BODY_KINDS.includes(kind) ? operations.filter(({ body }) => body) : operations)
  const plain = plainInput(operation, scene, dice)
  const change = CHANGES[kind]
  return { ...plain, kind, ...change(plain, dice, { operations, scene }) }
}

type Plain = Omit<Input, 'kind'> & { value: unknown }
type Change = (plain: Plain, dice: Dice, context: { operations: readonly Operation[]; scene: Scene }) => Partial<Input>

function plainInput(operation: Operation, scene: Scene, dice: Dice): Plain {
  const ids = Object.fromEntries(operation.params.map((name) => [name, dice.pick(scene.ids[name] ?? []) ?? 'unknown']))
  const value = operation.body && validValue(operation.body.schema, dice)
  return {
    operation,
    method: operation.method,
    url: addressOf(operation, ids),
    headers: {
      ...(!operation.isPublic && { authorization: `Bearer ${scene.key}` }),
      ...(value !== undefined && JSON_BODY),
    },
    ...(value !== undefined && { payload: JSON.stringify(value) }),
    expected: operation.strict ? (isBound(value) ? [200, 400] : [200]) : undefined,
    ids,
    value,
  }
}

/** Texts that mean a time or a network: few of those that are made here do. */
const isBound = (value: unknown) =>
  typeof value === 'object' &&
  value !== null &&
  ('expires_at' in value || 'allowed_cidrs' in value || 'allowed_clusters' in value)

const JSON_BODY = { 'content-type': 'application/json' }
const addressOf = ({ path }: Operation, ids: Record<string, string>) =>
  path.replace(/\{(\w+)\}/g, (_whole, name: string) => ids[name] ?? 'unknown')

const CHANGES: Record<Kind, Change> = {
  valid({ operation, headers }, dice) {
    const keyed = operation.method === 'POST' && dice.chance(0.3)
    return keyed ? { headers: { ...headers, 'agent-idempotency-key': `k${dice.below(1e9)}` } } : {}
  },

  mutated({ operation: { body, strict, generates }, value }, dice) {
    if (!body) return {}
    const changed = mutatedValue(body.schema, value, dice)
    const payload = JSON.stringify(changed) ?? ''
    // Prompts may be far larger than anything that is made here.
    if (payload.length > BODY_MAX && !generates) return { payload, expected: [413] }
    const refused = payload === '' || !body.accepts(JSON.parse(payload))
    return { payload, expected: strict ? (refused ? [400] : [200, 400]) : undefined }
  },

  hostile({ operation, value }, dice) {
    if (!operation.body) return {}
    const payload = JSON.stringify(hostileValue(value, dice))
    return { payload, expected: operation.strict ? [200, 400, 413] : undefined }
  },

  'odd json'({ operation, value }, dice) {
    if (!operation.body) return {}
    return { payload: oddJson(value, dice), expected: operation.strict ? [200, 400, 413] : undefined }
  },

  'odd header'({ operation, headers, payload }, dice) {
    const keyed = operation.method === 'POST' && !operation.isPublic
    if (payload !== undefined && dice.chance(0.5)) {
      const type = dice.pick([
        'text/plain',
        'application/xml',
        'application/jsonx',
        '',
        'a',
        'multipart/form-data',
        'application/json\ta',
      ])
      return { headers: { ...headers, 'content-type': type }, expected: operation.strict ? [415] : undefined }
    }
    const odd = dice.pick(['', ' ', 'a b', 'x'.repeat(256), 'é', '\u0001', 'a\tb'])
    const expected = operation.strict ? (keyed ? [400] : [200]) : undefined
    return { headers: { ...headers, 'agent-idempotency-key': odd, accept: dice.pick(HOSTILE.slice(10, 20)) }, expected }
  },

  'wrong method'({ url, headers }, dice, { operations }) {
    const allowed = operations.filter(({ pattern }) => pattern.test(url)).map((one) => one.method)
    if (allowed.includes('GET')) allowed.push('HEAD')
    const wrong = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'SEARCH'].filter(
      (one) => !allowed.includes(one),
    )
    return { method: dice.pick(wrong), headers, expected: [405] }
  },

  'no key'({ operation, headers: { authorization, ...rest } }, dice, { scene }) {
    if (operation.isPublic) return {}
    const raw = authorization?.slice(7) ?? ''
    const wrong = dice.pick([
      undefined,
      '',
      'Bearer',
      `Basic ${raw}`,
      raw,
      `Bearer ${raw.slice(0, -1)}`,
      `Bearer ${raw}x`,
      `Bearer ${raw.toUpperCase()}`,
      `Bearer ${dice.pick(scene.strangers)}`,
      `Bearer ${encodeURI(dice.pick(HOSTILE).toWellFormed())}`,
    ])
    return { headers: wrong === undefined ? rest : { ...rest, authorization: wrong }, expected: [401] }
  },

  'odd id'({ operation, url }, dice) {
    const hostile = encodeURIComponent(dice.pick(HOSTILE).toWellFormed())
    if (operation.params.length === 0) return { url: `${url}?${hostile}=${hostile}` }
    const ids = Object.fromEntries(
      operation.params.map((name) => [name, dice.pick([hostile, 'unknown', '%zz', '%', '%c3%28', `byc_${hostile}`])]),
    )
    const refused = isOperators({ method: operation.method, route: operation.path }) ? [403] : [] // R79: whatever it names
    const limited = operation.isPublic ? [429] : [] // §8: who has no key is counted by address
    return { ids, url: addressOf(operation, ids), expected: [400, 404, 405, 413, ...refused, ...limited] }
  },
}
