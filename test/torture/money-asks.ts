// What the money run asks for: each call with its own fate, chosen beforehand, so that a seed repeats all of it.
import type { Behaviour } from '../support/upstream.ts'
import type { Chance } from './randomness.ts'

export const MAX_TOKENS = 64
export const INPUT_MICROS = 1 // a token
export const OUTPUT_MICROS = 2

/** When the client goes: never, before anything came, after so many bytes, or with the whole answer in hand. */
export type Leaving =
  | { kind: 'stays' }
  | { kind: 'early'; after_ms: number }
  | { kind: 'midway'; after_bytes: number }
  | { kind: 'afterwards' }

export interface MoneyAsk {
  /** The logical call: it goes to the upstream in the body, and into the usage event as the session's name. */
  call: string
  /** Which of the run's API keys pays. */
  payer: number
  /** Its idempotency key. */
  keyed: string | undefined
  stream: boolean
  model: 'both' | 'solo'
  plan: { first: Behaviour; second: Behaviour }
  deadline_ms: number | undefined
  leaving: Leaving
  /** R42: what it costs where it completes. */
  cost_micros: number
}

/** The body, as it is sent. A retry asks for the same with no trouble planned: §11.9, its key is what counts. */
export function bodyOf({ call, model, stream, plan, cost_micros }: MoneyAsk, retry: boolean): string {
  const usage = usageFor(cost_micros)
  const planned = retry
    ? { first: { usage }, second: { usage } }
    : { first: { ...plan.first, usage }, second: { ...plan.second, usage } }
  const messages = [{ role: 'user', content: 'How much is it?' }]
  return JSON.stringify({ model, messages, max_tokens: MAX_TOKENS, ...(stream && { stream }), call, plan: planned })
}

const usageFor = (cost_micros: number) => ({ input: cost_micros % 2 === 0 ? 10 : 11, output: (cost_micros - 10) >> 1 })

/** R43: what such a body holds: two bytes a token in, the limit out. */
export const holdOf = (body: string, max_tokens = MAX_TOKENS) =>
  INPUT_MICROS * Math.ceil(Buffer.byteLength(body) / 2) + OUTPUT_MICROS * max_tokens

export function moneyAsks(random: Chance, calls: number, payers: number): MoneyAsk[] {
  const run = random.text(6)
  return Array.from({ length: calls }, (_, n) => {
    const stream = random.oneIn(2)
    const fate = fateOf(random, stream)
    return {
      call: `${run}-${n}`,
      payer: random.below(payers),
      keyed: random.oneIn(2) ? random.text(30) : undefined,
      stream,
      model: random.oneIn(4) ? 'solo' : 'both',
      ...fate,
      leaving: leavingOf(random),
      cost_micros: 12 + random.below(2 * MAX_TOKENS - 2),
    }
  })
}

type Fate = Pick<MoneyAsk, 'plan' | 'deadline_ms'>

function fateOf(random: Chance, stream: boolean): Fate {
  const well = () => answering(random, stream)
  const fates: [weight: number, fate: () => Fate][] = [
    [50, () => ({ plan: { first: well(), second: well() }, deadline_ms: undefined })],
    [18, () => ({ plan: { first: refusing(random), second: well() }, deadline_ms: undefined })],
    [4, () => ({ plan: { first: refusing(random), second: refusing(random) }, deadline_ms: undefined })],
    [12, () => ({ plan: { first: cutting(random, stream), second: well() }, deadline_ms: undefined })],
    [6, () => ({ plan: { first: { wait: 400 }, second: well() }, deadline_ms: 20 + random.below(100) })],
    [4, () => ({ plan: { first: { instead: 'silence' }, second: well() }, deadline_ms: 20 + random.below(100) })],
    [6, () => ({ plan: { first: { ...well(), pace: 20 }, second: well() }, deadline_ms: 30 + random.below(150) })],
  ]
  let drawn = random.below(fates.reduce((sum, [weight]) => sum + weight, 0))
  for (const [weight, fate] of fates) {
    if (drawn < weight) return fate()
    drawn -= weight
  }
  throw new Error('the weights do not add up')
}

function answering(random: Chance, stream: boolean): Behaviour {
  const text = 'Money is counted in whole micros. '.repeat(1 + random.below(6))
  const common: Behaviour = { text, wait: random.below(25) }
  if (random.oneIn(4)) common.drip_bytes = 16 + random.below(200)
  return stream ? { ...common, chunks: 1 + random.below(20), pace: random.below(6) } : common
}

function refusing(random: Chance): Behaviour {
  if (random.oneIn(2)) return { instead: (['reset', 'close', 'rubbish'] as const)[random.below(3)] as 'reset' }
  return { status: [500, 502, 503, 429][random.below(4)] as number, body: '{}', wait: random.below(20) }
}

function cutting(random: Chance, stream: boolean): Behaviour {
  const how = (['reset', 'close'] as const)[random.below(2)] as 'reset'
  return { ...answering(random, stream), cut: { after: random.below(stream ? 8 : 200), how } }
}

function leavingOf(random: Chance): Leaving {
  const drawn = random.below(100)
  if (drawn < 45) return { kind: 'stays' }
  if (drawn < 65) return { kind: 'early', after_ms: random.between(0, 60) }
  if (drawn < 90) return { kind: 'midway', after_bytes: 1 + random.below(2_000) }
  return { kind: 'afterwards' }
}
