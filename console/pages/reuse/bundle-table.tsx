// The project's bundles: how often each was used, how much of its prompts was cached, and where it was seen warm.
import { useCallback } from 'react'
import { BUNDLES_PATH, type Bundle, listBundles } from '../../api/bundle-calls.ts'
import type { ReuseBundle, ReuseSummary } from '../../api/reuse-calls.ts'
import { count } from '../../parts/amounts.ts'
import { Card } from '../../parts/card.tsx'
import { CodeBlock } from '../../parts/code-block.tsx'
import { curlCommand } from '../../parts/curl-command.ts'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { percent } from '../../parts/figures.ts'
import type { Period } from '../../parts/periods.ts'
import { Link } from '../../state/navigation.tsx'
import { seenAs, useResource } from '../../state/resource.ts'
import { BundleWarmth } from './bundle-warmth.tsx'

const POLL_MS = 60_000
/** Of so many the warmth is shown unasked: each is a request of its own. */
const SHOWN_AT_ONCE = 8

interface Row extends Bundle {
  /** Undefined where it is none of the busiest, which mostly says that it was not used. */
  use: ReuseBundle | undefined
  at_once: boolean
}

interface BundlesProps {
  period: Period
  /** Undefined while it is not known. */
  summary: ReuseSummary | undefined
}

export function Bundles({ period, summary }: BundlesProps) {
  const bundles = useResource(
    useCallback((signal: AbortSignal) => listBundles(signal), []),
    { poll_ms: POLL_MS },
  )
  const rows = seenAs(bundles, (list) => rowsOf(list, summary?.bundles ?? []))
  const [first] = rows.state.kind === 'ready' ? rows.state.value : []
  const has_none = rows.state.kind === 'ready' && !first
  return (
    <Card title="Bundles" gist={rows.state.kind === 'ready' ? bundlesWords(rows.state.value) : ''}>
      <div className="stack">
        {has_none ? (
          <NoBundles />
        ) : (
          <DataTable
            what="Bundles and their warmth"
            resource={rows}
            columns={columnsFor(period)}
            rowId={({ id }) => id}
            empty={null}
          />
        )}
        {first && <Warming id={first.id} />}
      </div>
    </Card>
  )
}

function bundlesWords(rows: readonly Row[]): string {
  const [first] = rows
  if (!first) return 'None yet: how to make one'
  return rows.length === 1 ? nameOf(first) : `${count(rows.length)}, the busiest is ${nameOf(first)}`
}

/** The busiest first, then the newest. */
function rowsOf(bundles: readonly Bundle[], uses: readonly ReuseBundle[]): Row[] {
  const known = new Map(uses.map((use) => [use.bundle_id, use]))
  return bundles
    .map((bundle) => ({ ...bundle, use: known.get(bundle.id) }))
    .sort((one, other) => (other.use?.events ?? 0) - (one.use?.events ?? 0))
    .map((row, at) => ({ ...row, at_once: at < SHOWN_AT_ONCE }))
}

const nameOf = ({ name, id }: Row) => name ?? id

const columnsFor = (period: Period): readonly Column<Row>[] => [
  { id: 'name', header: 'Bundle', cell: nameOf, sortBy: nameOf },
  {
    id: 'tokens',
    header: 'Tokens, about',
    align: 'right',
    cell: ({ tokens_est }) => count(tokens_est),
    sortBy: ({ tokens_est }) => tokens_est,
  },
  {
    id: 'used',
    header: 'Used',
    align: 'right',
    cell: ({ id, use }) =>
      use ? <Link to={`/requests?bundle_id=${id}&range=${period}`}>{count(use.events)}</Link> : '–',
    sortBy: ({ use }) => use?.events ?? 0,
  },
  {
    id: 'cached',
    header: 'Cached',
    align: 'right',
    cell: ({ use }) => (use ? percent(use.cached_tokens, use.input_tokens) : '–'),
    sortBy: ({ use }) => use?.cached_share ?? 0,
  },
  {
    id: 'warm',
    header: 'Last observed',
    cell: (row) => <BundleWarmth id={row.id} name={nameOf(row)} at_once={row.at_once} />,
  },
]

const Warming = ({ id }: { id: string }) => (
  <details className="more">
    <summary>Warm a bundle before it is needed</summary>
    <div className="stack">
      <p>
        It asks every target of the model for one token: real calls, charged like any other. Each costs what reading the
        bundle costs there, and all of them together never more than max_cost_usd.
      </p>
      <CodeBlock
        code={curlCommand(location.origin, `${BUNDLES_PATH}/${id}/warm`, { model: 'MODEL', max_cost_usd: 0.05 })}
        what="warming as curl"
      />
    </div>
  </details>
)

const NoBundles = () => (
  <>
    <p className="muted">
      No bundles yet. A bundle is what many prompts begin with, such as tools and instructions, kept once and sent the
      same to the byte: caches find it, and calls go to where it is warm. Upload its parts as artifacts, make a bundle
      of them, and name it in the header Agent-Bundle of each call.
    </p>
    <CodeBlock code={makingOne(location.origin)} what="making a bundle as curl" />
  </>
)

const makingOne = (origin: string) =>
  `curl -sS ${origin}/v2/artifacts \\
  -H "Authorization: Bearer $SWITCHYARD_KEY" \\
  -F kind=text -F file=@instructions.md

${curlCommand(origin, BUNDLES_PATH, { name: 'support', items: [{ artifact_id: 'art_…', role: 'system' }] })}`
