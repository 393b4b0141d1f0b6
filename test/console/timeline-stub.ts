// Stands in for GET /v2/usage/timeline, and for pages of GET /v2/usage, over a server that does not have them yet: out
// of the events that it does have. Over a server that has them it does nothing, and can go.
import type { BrowserContext, Route } from 'playwright-core'
import type { UsageStep } from '../../console/api/timeline-calls.ts'
import type { UsageEvent } from '../../src/usage/usage-event.ts'

const STEP_MS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const
type Amount =
  | 'charged_micros'
  | 'direct_cost_micros'
  | 'savings_micros'
  | 'input_tokens'
  | 'cached_tokens'
  | 'output_tokens'

export async function standInForTimeline(context: BrowserContext): Promise<void> {
  const answer = await context.request.get('/v2/usage/timeline')
  if (answer.status() !== 404) return
  await context.route('**/v2/usage/timeline?*', async (route) => {
    const query = new URL(route.request().url()).searchParams
    const events = await eventsFor(route)
    if (events) await route.fulfill({ json: { object: 'list', data: stepsOf(query, events), has_more: false } })
  })
  await context.route(/\/v2\/usage\?(?!.*group_by).*limit=25(&|$)/, async (route) => {
    const after = new URL(route.request().url()).searchParams.get('after')
    const events = await eventsFor(route)
    if (!events) return
    const from = after === null ? 0 : events.findIndex(({ trace_id }) => trace_id === after) + 1
    const json = { object: 'list', data: events.slice(from, from + 25), has_more: events.length > from + 25 }
    await route.fulfill({ json })
  })
}

async function eventsFor(route: Route): Promise<UsageEvent[] | undefined> {
  const url = new URL(route.request().url())
  url.pathname = '/v2/usage'
  for (const name of ['step', 'after']) url.searchParams.delete(name)
  url.searchParams.set('limit', '10000')
  try {
    const answer = await route.fetch({ url: url.href })
    return ((await answer.json()) as { data: UsageEvent[] }).data
  } catch {
    return undefined // the page has gone
  }
}

function stepsOf(query: URLSearchParams, events: readonly UsageEvent[]): UsageStep[] {
  const step_ms = STEP_MS[(query.get('step') ?? 'hour') as keyof typeof STEP_MS]
  const [from, to] = [Date.parse(query.get('from') ?? ''), Date.parse(query.get('to') ?? '')]
  const first = from - (from % step_ms)
  return Array.from({ length: Math.ceil((to - first) / step_ms) }, (_, at) => {
    const start_ms = first + at * step_ms
    const inside = events.filter(({ created_at }) => Math.floor((Date.parse(created_at) - start_ms) / step_ms) === 0)
    return stepOf(start_ms, inside)
  })
}

function stepOf(start_ms: number, events: readonly UsageEvent[]): UsageStep {
  const by_status: Record<string, number> = {}
  for (const { status } of events) by_status[status] = (by_status[status] ?? 0) + 1
  const sum = (name: Amount) => events.reduce((all, event) => all + event[name], 0)
  const rank = (values: (number | null)[], percent: number) => {
    const sorted = values.filter((value) => value !== null).sort((a, b) => a - b)
    return sorted[Math.ceil((sorted.length * percent) / 100) - 1] ?? null
  }
  const durations = events.map(({ duration_ms }) => duration_ms)
  const ttfts = events.map(({ ttft_ms }) => ttft_ms)
  return {
    object: 'usage_step',
    start: new Date(start_ms).toISOString(),
    requests: events.length,
    errors: events.length - (by_status.completed ?? 0),
    by_status,
    charged_micros: sum('charged_micros'),
    direct_cost_micros: sum('direct_cost_micros'),
    savings_micros: sum('savings_micros'),
    input_tokens: sum('input_tokens'),
    cached_tokens: sum('cached_tokens'),
    output_tokens: sum('output_tokens'),
    written_tokens: 0,
    reasoning_tokens: 0,
    repeated_tokens_est: 0,
    missed_reuse_tokens: 0,
    written_off_micros: 0,
    duration_p50_ms: rank(durations, 50),
    duration_p95_ms: rank(durations, 95),
    ttft_p50_ms: rank(ttfts, 50),
    ttft_p95_ms: rank(ttfts, 95),
  }
}
