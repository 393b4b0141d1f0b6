// §8.1.2: what may be asked of one model in a minute, beside what a key may do at all: by the operator for each key,
// or each project, and by a project for one of its keys. Which entry counts for a call, and what it asks for.
import { type Static, Type } from 'typebox'
import type { Caller } from '../core/caller.ts'
import { Refusal } from '../core/refusal.ts'
import { LABEL_MAX, storable } from '../core/shapes.ts'

const RATES_MAX = 100
const RATE_MAX = 1_000_000_000

const Rate = (description: string) => Type.Optional(Type.Integer({ minimum: 1, maximum: RATE_MAX, description }))
const fields = {
  model: Type.String({
    minLength: 1,
    maxLength: LABEL_MAX,
    description: 'A model or alias as calls name it; `gpt-4o*` stands for all that begin so, together.',
  }),
  requests_per_minute: Rate('Generations that name it.'),
  tokens_per_minute: Rate('Their tokens, estimated on arrival, settled to the actual.'),
}
const closed = { additionalProperties: false }

/** Of one key. */
export const KeyModelRates = Type.Array(Type.Object(fields, { ...closed, title: 'ModelRate' }), {
  maxItems: RATES_MAX,
  description:
    'What the key may ask of single models, beside its other limits; in the place of what every key may. The whole ' +
    'name counts before a beginning, a longer beginning before a shorter one.',
})
export type KeyModelRates = Static<typeof KeyModelRates>
export type ModelRate = KeyModelRates[number]

/** As switchyard.yaml says them. */
export const OperatorModelRates = Type.Array(
  Type.Object(
    {
      ...fields,
      of: Type.Enum(['key', 'project'], {
        default: 'key',
        description: 'Whose calls are counted together: those of each key, or of each project.',
      }),
    },
    closed,
  ),
  { maxItems: RATES_MAX, default: [], description: 'What may be asked of single models, beside all other limits.' },
)
export type OperatorModelRates = Static<typeof OperatorModelRates>
type Of = OperatorModelRates[number]['of']

/** What is wrong with a list, beyond its shape; undefined where nothing is. */
export function wrongIn(rates: readonly (ModelRate & { of?: string })[]): string | undefined {
  const seen = new Set<string>()
  for (const { model, of, requests_per_minute, tokens_per_minute } of rates) {
    if (model.slice(0, -1).includes('*')) return "'models' may have a '*' only at the end of a name."
    if ((requests_per_minute ?? tokens_per_minute) === undefined)
      return `'models' must give '${model}' requests_per_minute or tokens_per_minute.`
    const name = `${of} ${model}`
    if (seen.has(name)) return `'models' names '${model}' twice.`
    seen.add(name)
  }
  return undefined
}

export function checkedRates(rates: KeyModelRates): KeyModelRates {
  for (const { model } of rates) storable('models', model)
  const wrong = wrongIn(rates)
  if (wrong) throw new Refusal('invalid_request', wrong)
  return rates
}

/** As they are kept. */
export const ratesIn = (text: string | null): KeyModelRates | null => (text === null ? null : JSON.parse(text))

/** The whole name before a beginning, a longer beginning before a shorter one. */
export function rateFor<R extends ModelRate & { of?: Of }>(rates: readonly R[], model: string, of?: Of): R | undefined {
  let best: R | undefined
  for (const rate of rates) {
    if (rate.of !== of) continue
    if (rate.model === model) return rate
    const covers = rate.model.endsWith('*') && model.startsWith(rate.model.slice(0, -1))
    if (covers && (!best || rate.model.length > best.model.length)) best = rate
  }
  return best
}

/** As the counters are asked. */
interface ModelAsk {
  layer: 'key' | 'project'
  name: 'model_requests_per_minute' | 'model_tokens_per_minute'
  subject: string
  home: string
  limit: number
  amount: number
  shadow: boolean
  model: string
}

interface Wanted {
  model: string
  tokens: number
}

interface Rules {
  operator: OperatorModelRates
  /** Whether a layer counts and refuses nothing. */
  shadow: Readonly<Record<ModelAsk['layer'], boolean>>
  /** R64: a child counts as its parent. */
  key_id: string
}

/** What a call asks for because of the model that it names. Nothing is made where nobody limits any. */
export function modelAsks(caller: Caller, wanted: Wanted, { operator, shadow, key_id }: Rules): ModelAsk[] {
  const asks: ModelAsk[] = []
  const own = caller.limits?.models
  const add = (rate: ModelRate, layer: ModelAsk['layer'], whose: string) => {
    const { model, requests_per_minute: requests, tokens_per_minute: tokens } = rate
    const common = { layer, subject: `${whose} ${model}`, home: caller.project_id, model, shadow: shadow[layer] }
    if (requests !== undefined) asks.push({ ...common, name: 'model_requests_per_minute', limit: requests, amount: 1 })
    if (tokens !== undefined)
      asks.push({ ...common, name: 'model_tokens_per_minute', limit: tokens, amount: wanted.tokens })
  }
  const of_key = (own && rateFor(own, wanted.model)) ?? rateFor(operator, wanted.model, 'key')
  if (of_key) add(of_key, 'key', key_id)
  const of_project = rateFor(operator, wanted.model, 'project')
  if (of_project) add(of_project, 'project', caller.project_id)
  return asks
}
