// What a replay run found: how often answers differ from those that were recorded, and what they took. A difference is
// told only where it is larger than what the control arm differs by itself. Pure.
import { type Static, Type } from 'typebox'
import { orNull } from '../core/shapes.ts'
import { isApart, type Mean, meanOf, Rate, rateOf } from './intervals.ts'
import type { Arm, Figures, ReplayItem, Result } from './replay-item.ts'
import type { Sameness } from './said-comparison.ts'

export const RATES = ['text', 'json', 'tool_names', 'tool_arguments', 'finish_reason'] as const
export const AMOUNTS = [
  ...(['input_tokens', 'cached_tokens', 'output_tokens', 'charged_micros', 'ttft_ms', 'duration_ms'] as const),
] as const

const Differs = Type.Object({
  measure: Type.Enum([...RATES]),
  target: Rate,
  control: orNull(Rate),
  exceeds_control: Type.Boolean({ description: 'Its interval lies above that of the control arm, or of nothing.' }),
})

const Side = Type.Object({
  sum: Type.Integer({ description: 'Of the calls that were compared.' }),
  delta: Type.Integer({ description: 'Less what the same calls took when they were recorded.' }),
  mean_delta: Type.Number({ description: 'Of one call.' }),
  low: Type.Number({ description: 'Of the 95 % interval of the mean.' }),
  high: Type.Number(),
})

const Amount = Type.Object({
  measure: Type.Enum([...AMOUNTS]),
  recorded: Type.Integer({ description: 'What the calls that the target arm was compared with took.' }),
  target: Side,
  control: orNull(Side),
  exceeds_control: Type.Boolean({ description: 'Its interval lies beside that of the control arm, or of nothing.' }),
})

export const ReplayComparison = Type.Object(
  {
    object: Type.Literal('replay_comparison'),
    replay_run_id: Type.String(),
    compared: Type.Integer({ description: 'Calls of the target arm that were answered.' }),
    control_compared: orNull(Type.Integer({ description: 'Of the control arm; null where the run has none.' })),
    rates: Type.Array(Differs, { description: 'How often something differs from what was recorded.' }),
    amounts: Type.Array(Amount),
    differences: Type.Array(Type.Enum([...RATES, ...AMOUNTS]), {
      description: 'The measures that differ by more than the control arm does.',
    }),
  },
  { title: 'ReplayComparison' },
)
export type ReplayComparison = Static<typeof ReplayComparison>

/** An item that was answered. */
export type Compared = Pick<ReplayItem, 'arm'> & { recorded: Figures; result: Result }

export const isCompared = <Item extends Pick<ReplayItem, 'arm' | 'recorded' | 'result'>>(
  item: Item,
): item is Item & Compared => item.recorded !== null && item.result !== null

export function compare(replay_run_id: string, items: readonly Compared[], has_control: boolean): ReplayComparison {
  const of = (arm: Arm) => items.filter((item) => item.arm === arm)
  const [target, control] = [of('target'), has_control ? of('control') : undefined]
  const rates = RATES.map((measure) => {
    const [differs, by_itself] = [ratesOf(measure, target), control ? ratesOf(measure, control) : null]
    return { measure, target: differs, control: by_itself, exceeds_control: differs.low > (by_itself?.high ?? 0) }
  })
  const amounts = AMOUNTS.map((measure) => {
    const [took, by_itself] = [sideOf(measure, target), control ? sideOf(measure, control) : null]
    const recorded = took.sum - took.delta
    return { measure, recorded, target: took, control: by_itself, exceeds_control: isApart(took, by_itself ?? NOTHING) }
  })
  return {
    object: 'replay_comparison',
    replay_run_id,
    compared: target.length,
    control_compared: control?.length ?? null,
    rates,
    amounts,
    differences: [...rates, ...amounts].filter((one) => one.exceeds_control).map(({ measure }) => measure),
  }
}

const NOTHING: Mean = { mean: 0, low: 0, high: 0 }

function ratesOf(measure: keyof Sameness, items: readonly Compared[]): Rate {
  const told = items.map(({ result }) => result.same[measure]).filter((same) => same !== null)
  return rateOf(told.filter((same) => !same).length, told.length)
}

/** In pairs: each call with the one that it repeats. Of a first token only where both had one. */
function sideOf(measure: (typeof AMOUNTS)[number], items: readonly Compared[]): Static<typeof Side> {
  const pairs = items.flatMap(({ recorded, result }) => {
    const [before, now] = [recorded[measure], result[measure]]
    return before === null || now === null ? [] : [{ before, now }]
  })
  const deltas = pairs.map(({ before, now }) => now - before)
  const { mean, low, high } = meanOf(deltas)
  const sum = pairs.reduce((all, { now }) => all + now, 0)
  return { sum, delta: deltas.reduce((all, delta) => all + delta, 0), mean_delta: mean, low, high }
}
