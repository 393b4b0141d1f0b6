// Values for the fuzzer, from a JSON schema and a seed: good ones, ones that break the schema, and ones that try to
// break whatever reads them.
export interface Schema {
  type?: string
  anyOf?: Schema[]
  enum?: unknown[]
  const?: unknown
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  minItems?: number
  maxItems?: number
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
}

export type Dice = ReturnType<typeof diceFrom>

/** Mulberry32: small, fast, and the same everywhere for the same seed. */
export function diceFrom(seed: number) {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number) => Math.floor(next() * limit)
  return {
    below,
    between: (low: number, high: number) => low + below(high - low + 1),
    chance: (share: number) => next() < share,
    pick: <T>(from: readonly T[]): T => from[below(from.length)] as T,
  }
}

const LETTERS = [...'abcdefghijklmnopqrstuvwxyzABCDEF0123456789-_. éß日本🚀∞']

function text(dice: Dice, { minLength = 0, maxLength = 64 }: Schema): string {
  const length = dice.between(Math.max(1, minLength), Math.min(maxLength, dice.chance(0.05) ? 300 : 24))
  return `x${Array.from({ length: length - 1 }, () => dice.pick(LETTERS)).join('')}` // never blank
}

/** A value that the schema and, for the fields of the contract, the rules behind it accept. */
export function validValue(schema: Schema, dice: Dice, field = ''): unknown {
  if (schema.anyOf) return validValue(dice.pick(schema.anyOf), dice, field)
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return dice.pick(schema.enum)
  if (field === 'endpoint')
    return `${dice.pick(['http', 'https'])}://h${dice.below(99)}.example:${dice.between(1, 65_535)}/v1`
  if (field === 'limit_usd') return dice.pick([0, 1, 5, 12.5, 8.2, 1.005, 0.000001, 9_007_199_254])
  switch (schema.type) {
    case 'string':
      return text(dice, schema)
    case 'integer':
      return dice.between(Math.max(schema.minimum ?? 0, -1e6), Math.min(schema.maximum ?? 1e6, 1e6))
    case 'number':
      return dice.pick(
        [0, -0, 1, -1, 0.1, 1e-7, 1e6, 1e21, 123.456, dice.below(1e6) / 1e3].filter((n) => inRange(n, schema)),
      )
    case 'boolean':
      return dice.chance(0.5)
    case 'null':
      return null
    case 'array': {
      const length = dice.between(schema.minItems ?? 0, Math.min(schema.maxItems ?? 4, 16))
      const of = schema.items ?? {}
      const items = Array.from({ length }, () => validValue(of, dice))
      return isRate(of) ? oneOfEachModel(items as { model: string }[]) : items
    }
    case 'object':
      return validObject(schema, dice)
    default:
      return anyValue(dice)
  }
}

const inRange = (n: number, { minimum = -Infinity, maximum = Infinity }: Schema) => n >= minimum && n <= maximum

function validObject({ properties = {}, required = [] }: Schema, dice: Dice): Record<string, unknown> {
  const chosen = Object.entries(properties).filter(([name]) => required.includes(name) || dice.chance(0.4))
  const value = Object.fromEntries(chosen.map(([name, schema]) => [name, validValue(schema, dice, name)]))
  const { min_replicas: low, max_replicas: high } = value
  if (typeof low === 'number' && typeof high === 'number') value.min_replicas = Math.min(low, high)
  // 0346: a rate of a model says at least one of the two.
  if (isRate({ properties })) value.requests_per_minute ??= 1
  return value
}

const isRate = ({ properties }: Schema) => Boolean(properties?.model && properties.tokens_per_minute)

/** 0346: a list of rates names a model once. */
const oneOfEachModel = (rates: readonly { model: string }[]) => [
  ...new Map(rates.map((rate) => [rate.model, rate])).values(),
]

/** Any JSON at all. */
export function anyValue(dice: Dice, depth = 0): unknown {
  const plain = [null, true, false, 0, -1, 1.5, 1e21, '', 'x', HOSTILE[dice.below(HOSTILE.length)]]
  if (depth > 3 || dice.chance(0.6)) return dice.pick(plain)
  const size = dice.below(4)
  if (dice.chance(0.5)) return Array.from({ length: size }, () => anyValue(dice, depth + 1))
  return Object.fromEntries(Array.from({ length: size }, () => [dice.pick(FIELDS), anyValue(dice, depth + 1)]))
}

const FIELDS = [
  'name',
  'id',
  'project_id',
  'status',
  'constructor',
  'toString',
  'length',
  '',
  '0',
  'a.b',
  'é',
  'hasOwnProperty',
]

export const HOSTILE: readonly string[] = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\ud800',
  'a\udfffb',
  '\ufeff',
  '\u200b\u200d',
  '\u202egnirts',
  '\r\nX-Injected: 1',
  "'; DROP TABLE api_key; --",
  '" OR ""="',
  '$1',
  '?1',
  '%s%n%x',
  '%00',
  '../../etc/passwd',
  '..\\..\\',
  '<script>alert(1)</script>',
  `${'$'}{process.exit()}`,
  '{{7*7}}',
  '__proto__',
  'constructor',
  'null',
  'NaN',
  '-1',
  '1e999',
  '\u0130\u0131ſ',
  '👩‍👩‍👧‍👦'.repeat(40),
  'x'.repeat(257),
  'x'.repeat(10_000),
  'a\u0301'.repeat(128),
  '\u001b[31m',
  'http://169.254.169.254/latest/meta-data',
  'javascript:alert(1)',
  'http://a:b@c/',
  'https://[::1',
]

/** The same value with something about it changed: a field gone, of another type, too much, too little, made hostile. */
export function mutatedValue(schema: Schema, value: unknown, dice: Dice): unknown {
  if (schema.type === 'object' && isObject(value) && dice.chance(0.85)) {
    const names = Object.keys(schema.properties ?? {})
    const name = dice.pick(names)
    if (name === undefined) return anyValue(dice)
    if (dice.chance(0.2)) return Object.fromEntries(Object.entries(value).filter(([one]) => one !== name))
    return { ...value, [name]: mutatedValue(schema.properties?.[name] ?? {}, value[name], dice) }
  }
  if (schema.type === 'array' && Array.isArray(value) && dice.chance(0.7)) {
    if (dice.chance(0.3)) return []
    if (dice.chance(0.3)) return Array(17).fill(value[0] ?? null)
    return value.map((one, at) => (at === 0 ? mutatedValue(schema.items ?? {}, one, dice) : one))
  }
  return dice.pick([
    null,
    true,
    'text',
    '',
    5,
    -1,
    1.5,
    1e300,
    -(2 ** 53),
    [],
    {},
    [value],
    { value },
    'x'.repeat((schema.maxLength ?? 100) + 1),
    (schema.minimum ?? 0) - 1,
    (schema.maximum ?? 1e300) + 1,
    JSON.stringify(value) ?? '',
    dice.pick(HOSTILE),
  ])
}

/** Texts that were good become hostile; everything else stays. */
export function hostileValue(value: unknown, dice: Dice): unknown {
  if (typeof value === 'string') return dice.pick(HOSTILE)
  if (Array.isArray(value)) return value.map((one) => hostileValue(one, dice))
  if (isObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, hostileValue(one, dice)]))
  return value
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const ODD_NUMBERS = [
  '1e999',
  '-1e999',
  '-0',
  '0.0',
  '1E400',
  '1e-400',
  '9007199254740993',
  '01',
  '+1',
  '.5',
  '1.',
  'NaN',
  '0x10',
  '1_000',
  `1${'0'.repeat(400)}`,
]

/** A JSON text that a parser may stumble over. */
export function oddJson(value: unknown, dice: Dice): string | Buffer {
  const json = JSON.stringify(value) ?? 'null'
  const cut = dice.below(json.length + 1)
  return dice.pick<() => string | Buffer>([
    () => json.slice(0, cut),
    () => `${json}${json}`,
    () => json.replace(/-?\d+(\.\d+)?(e[+-]?\d+)?/i, dice.pick(ODD_NUMBERS)),
    () => json.replace(/"[^"]*"(?=[,}\]])/, dice.pick(ODD_NUMBERS)),
    () => json.replace('{', `{"name":${JSON.stringify(dice.pick(HOSTILE))},`),
    () => json.replace('{', '{"__proto__":{"polluted":1},'),
    () => json.replace('{', '{"constructor":{"prototype":{}},'),
    () => json.replace('{', `{"x":${'['.repeat(dice.between(60, 5_000))}`),
    () => `${'{"a":'.repeat(dice.between(60, 5_000))}1`,
    () => `[${json},${json}]`,
    () => `\ufeff${json}`,
    () => `${json},`,
    () => json.replaceAll('"', "'"),
    () => `${json}//x`,
    () =>
      Buffer.concat([
        Buffer.from(json.slice(0, cut)),
        Buffer.from([dice.between(128, 255)]),
        Buffer.from(json.slice(cut)),
      ]),
    () => Buffer.from(json, 'utf16le'),
    () => Buffer.from(Array.from({ length: dice.below(200) }, () => dice.below(256))),
    () => json.replace(/"(?=[,}\]])/, '\\ud800"'),
    () => json.replace(/"(?=[,}\]])/, '\\u0000"'),
    () => `${json}${' '.repeat(dice.chance(0.02) ? 70_000 : 9)}`,
  ])()
}
