// How many routes the sums of ended workers name: workers come and go, and with each of them the names that tenants
// chose. The busiest stay; what goes was told while its worker lived, and is not told a second time under another name.
import type { Counted, CountedMetric, CountedValue } from './worker-messages.ts'

const ROUTES_MAX = 500
const BUSY_BY = 'switchyard_generations_total'

export function withinBounds(counted: Counted, most = ROUTES_MAX): Counted {
  const calls = new Map<string, number>()
  for (const metric of counted) for (const value of metric.values ?? []) noteCalls(calls, metric, value)
  if (calls.size <= most) return counted
  const busiest = [...calls].sort(([, a], [, b]) => b - a).slice(0, most)
  const kept = new Set(busiest.map(([route]) => route))
  return counted.map((metric) => {
    const values = metric.values?.filter((value) => isKept(routeOf(value), kept)) ?? []
    return Object.assign({}, metric, { values, get: async () => Object.assign({}, metric, { values }) })
  })
}

function noteCalls(calls: Map<string, number>, { name }: CountedMetric, value: CountedValue): void {
  const route = routeOf(value)
  if (route !== undefined) calls.set(route, (calls.get(route) ?? 0) + (name === BUSY_BY ? value.value : 0))
}

const isKept = (route: string | undefined, kept: ReadonlySet<string>) => route === undefined || kept.has(route)

/** Undefined of what is not counted by route. */
const routeOf = ({ labels: { provider, model, profile } }: CountedValue): string | undefined =>
  model === undefined ? undefined : `${provider}\n${model}\n${profile}`
