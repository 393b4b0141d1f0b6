// How much of what is sent had been sent before, how much of that caches had, where it is lost, what to do next, and
// the bundles.
import { useCallback } from 'react'
import { type ReusePlace, type ReuseSummary, reuseSummary } from '../../api/reuse-calls.ts'
import { count, headlineCount, headlineMoney, money } from '../../parts/amounts.ts'
import { Card } from '../../parts/card.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { percent } from '../../parts/figures.ts'
import { Fold } from '../../parts/fold.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { PERIODS, type Period, periodFrom, spanOf } from '../../parts/periods.ts'
import { Segments } from '../../parts/segments.tsx'
import { useAddressQuery } from '../../state/address-query.ts'
import { nowMs } from '../../state/browser-clock.ts'
import { Link } from '../../state/navigation.tsx'
import { type Resource, seenAs, useResource } from '../../state/resource.ts'
import { Bundles } from './bundle-table.tsx'

const POLL_MS = 30_000
const OFFERED = (['24h', '7d', '30d', '90d'] as const).map((id) => ({ id, label: PERIODS[id].label }))

export default function ReusePage() {
  const { params, change } = useAddressQuery()
  const period = periodFrom(params.get('range'), '7d')
  const summary = useSummary(period)
  const known = summary.state.kind === 'ready' ? summary.state.value : undefined
  return (
    <>
      <PageHeader
        title="Reuse"
        lead={known && known.events > 0 ? leadOf(known) : 'What prompts repeat, and what caches make of it.'}
        actions={<Segments label="Period" options={OFFERED} value={period} onChange={(range) => change({ range })} />}
      />
      {known && known.events > 0 && <Figures summary={known} />}
      {known && known.events > 0 && <Next summary={known} />}
      <div className="stack">
        <Places summary={summary} known={known?.places ?? []} />
        <Bundles period={period} summary={known} />
      </div>
    </>
  )
}

/** On a phone folded, where there is something. */
function Places({ summary, known }: { summary: Resource<ReuseSummary>; known: readonly ReusePlace[] }) {
  const table = (
    <DataTable
      what={PLACES}
      resource={seenAs(summary, ({ places }) => places)}
      columns={COLUMNS}
      rowId={({ events_at }) => events_at}
      empty={<NothingYet />}
    />
  )
  const [most] = known.toSorted((a, b) => b.missed_reuse_tokens - a.missed_reuse_tokens)
  if (!most) return table
  return (
    <Fold
      title={PLACES}
      gist={`${most.provider}, ${most.model} missed most: ${count(most.missed_reuse_tokens)} tokens`}
    >
      {table}
    </Fold>
  )
}

const PLACES = 'Where reuse is had and lost'

function useSummary(period: Period): Resource<ReuseSummary> {
  return useResource(
    useCallback(
      (signal: AbortSignal) => {
        const { from_ms, to_ms } = spanOf(period, nowMs())
        return reuseSummary({ from: new Date(from_ms).toISOString(), to: new Date(to_ms).toISOString() }, signal)
      },
      [period],
    ),
    { poll_ms: POLL_MS },
  )
}

const leadOf = ({ input_tokens, repeated_tokens_est }: ReuseSummary) =>
  `${percent(repeated_tokens_est, input_tokens)} of what was sent had been sent before.`

function Figures({ summary }: { summary: ReuseSummary }) {
  const { repeated_tokens_est: repeated, cached_tokens, missed_reuse_tokens, saved_micros, gpu_seconds_saved } = summary
  return (
    <dl className="headline">
      <Figure label="Requests" note="that were looked at">
        {headlineCount(summary.events)}
      </Figure>
      <Figure label="Repeated" note={`of ${headlineCount(summary.input_tokens)} tokens sent`}>
        {headlineCount(repeated)}
      </Figure>
      <Figure label="Reused" note="from caches, as upstreams tell">
        {headlineCount(cached_tokens)}
      </Figure>
      <Figure label="Missed" note={`${percent(missed_reuse_tokens, repeated)} of what is repeated`}>
        {headlineCount(missed_reuse_tokens)}
      </Figure>
      <Figure label="Saved at providers" note="at list prices">
        {headlineMoney(saved_micros)}
      </Figure>
      <Figure label="Prefill saved" note={gpu_seconds_saved === null ? 'no rate was observed yet' : 'on own clusters'}>
        {seconds(gpu_seconds_saved)}
      </Figure>
    </dl>
  )
}

const Figure = ({ label, note, children }: { label: string; note: string; children: string }) => (
  <div>
    <dt>{label}</dt>
    <dd>{children}</dd>
    <dd className="headline-note">{note}</dd>
  </div>
)

const seconds = (value: number | null) => (value === null ? '–' : `${count(value)} GPU s`)

function Next({ summary }: { summary: ReuseSummary }) {
  const { next, places } = summary
  if (next.length === 0) return <p className="notice">{withoutAdvice(summary)}</p>
  return (
    <Card title="What to do next">
      <div className="stack">
        {next.map(({ sentence, missed_tokens, place }) => (
          <p key={sentence}>
            {inWords(sentence)} {count(missed_tokens)} tokens were missed.{' '}
            <ToCluster id={places[place]?.cluster_id ?? null} />
          </p>
        ))}
      </div>
    </Card>
  )
}

const LITTLE = 0.1 // of what is repeated

/** None is given for a few tokens either, all of which may have been missed. */
function withoutAdvice({ repeated_tokens_est: repeated, missed_reuse_tokens: missed }: ReuseSummary): string {
  return missed <= LITTLE * repeated
    ? 'Little is lost: what is repeated is found in caches.'
    : 'Too little was missed so far to advise anything.'
}

/** Where the API is named, the page has a link. */
const inWords = (sentence: string) => sentence.replace(/: see which in GET \S+$/, '.')

const ToCluster = ({ id }: { id: string | null }) => id !== null && <Link to={`/clusters/${id}`}>See the cluster</Link>

const tokens = (
  id: 'repeated_tokens_est' | 'cached_tokens' | 'missed_reuse_tokens',
  header: string,
): Column<ReusePlace> => ({
  id,
  header,
  align: 'right',
  cell: (place) => count(place[id]),
  sortBy: (place) => place[id],
})

const COLUMNS: readonly Column<ReusePlace>[] = [
  { id: 'place', header: 'Where', cell: (place) => <Place place={place} />, sortBy: ({ provider }) => provider },
  { id: 'model', header: 'Model', cell: ({ model }) => model, sortBy: ({ model }) => model },
  tokens('repeated_tokens_est', 'Repeated'),
  tokens('cached_tokens', 'Reused'),
  tokens('missed_reuse_tokens', 'Missed'),
  { id: 'saved', header: 'Saved', align: 'right', cell: savedAt },
]

function Place({ place: { cluster_id, provider } }: { place: ReusePlace }) {
  return cluster_id === null ? provider : <Link to={`/clusters/${cluster_id}`}>{provider}</Link>
}

function savedAt({ saved_micros, gpu_seconds_saved }: ReusePlace): string {
  return saved_micros === null ? seconds(gpu_seconds_saved) : money(saved_micros)
}

const NothingYet = () => (
  <>
    <h2>Nothing was sent yet</h2>
    <p>Once requests come, this page shows how much of their prompts is repeated, and what caches made of it.</p>
  </>
)
