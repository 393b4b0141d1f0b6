// §4.9: recompute and fetch against the length of the prefix, with the break-even of each tier; and how load moves it.
import type { CacheEstimate } from '../../api/cache-plan-calls.ts'
import { count } from '../../parts/amounts.ts'
import { CurveChart, type Mark } from '../../parts/curve-chart.tsx'
import { duration } from '../../parts/figures.ts'
import { latency, wholePercent } from '../../parts/measures.ts'
import { winsWords } from './estimated-costs.tsx'

const RECOMPUTE = 'recompute'
const KILO = 1_024

/** As context lengths are written: 16k for 16,384. */
const lengthWords = (tokens: number) =>
  tokens >= KILO && tokens % KILO === 0 ? `${count(tokens / KILO)}k` : count(Math.round(tokens))

const TOKENS = { label: 'tokens', format: lengthWords, base: 4 }

export function EstimateCharts({ estimate }: { estimate: CacheEstimate }) {
  const { curve, load_curve, tiers, prefix_tokens } = estimate
  const about = (name: string) => {
    const tier = tiers.find((one) => one.name === name)
    return tier && `wins ${winsWords(tier)}`
  }
  return (
    <div className="chart-pair">
      <CurveChart
        title="Recompute and fetch, by length of the prefix"
        at={curve.prefix_tokens}
        x={TOKENS}
        y={{ label: 'time', format: latency, mark: duration, base: 10 }}
        curves={[
          { name: RECOMPUTE, values: curve.recompute_ms, reference: true },
          ...curve.tiers.map(({ name, total_ms }) => ({ name, values: total_ms })),
        ]}
        marks={breakEvens(estimate)}
        line={{ x: prefix_tokens, label: `${count(prefix_tokens)} tokens` }}
        about={about}
      />
      <CurveChart
        title="How load moves the break-even"
        at={load_curve.utilization}
        x={{ label: 'busy', format: wholePercent }}
        y={{ label: 'in tokens', format: lengthWords, base: 4 }}
        curves={load_curve.tiers.map(({ name, break_even_tokens }) => ({ name, values: break_even_tokens }))}
        about={(name) => lostAt(load_curve, name)}
      />
    </div>
  )
}

/** On the recompute curve, where the fetch meets it. */
function breakEvens({ curve, tiers }: CacheEstimate): Mark[] {
  const [shortest = 0] = curve.prefix_tokens
  const longest = curve.prefix_tokens.at(-1) ?? 0
  return tiers.flatMap(({ name, break_even_tokens: x }) =>
    x === null || x <= shortest || x > longest ? [] : [{ curve: name, x, y: recomputeAt(curve, x) }],
  )
}

/** Between two lengths the curve is straight on logarithmic paper, nearly. */
export function recomputeAt({ prefix_tokens, recompute_ms }: CacheEstimate['curve'], tokens: number): number {
  const next = Math.max(
    1,
    prefix_tokens.findIndex((one) => one >= tokens),
  )
  const [x0 = 1, x1 = 1] = prefix_tokens.slice(next - 1, next + 1)
  const [y0 = 1, y1 = 1] = recompute_ms.slice(next - 1, next + 1)
  const share = Math.log(tokens / x0) / (Math.log(x1 / x0) || 1)
  return y0 * (y1 / y0) ** share
}

function lostAt({ utilization, tiers }: CacheEstimate['load_curve'], name: string): string | undefined {
  const even = tiers.find((one) => one.name === name)?.break_even_tokens ?? []
  const lost = even.indexOf(null)
  if (lost < 0) return undefined
  return lost === 0 ? 'no break-even' : `no break-even from ${wholePercent(utilization[lost] ?? 0)} busy on`
}
