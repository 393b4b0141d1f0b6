// Where a bundle was last sent, and how much of that prompt was cached there: observed, so a cache may have dropped it
// since.
import { useCallback, useState } from 'react'
import { bundleWarmth, type BundleWarmth as Warmth } from '../../api/bundle-calls.ts'
import { Button } from '../../parts/button.tsx'
import { percent } from '../../parts/figures.ts'
import { TimeAgo } from '../../parts/time-ago.tsx'
import { Link } from '../../state/navigation.tsx'
import { useResource } from '../../state/resource.ts'

const POLL_MS = 60_000
const TARGETS_SHOWN = 3

/** Of those that are used little it is asked for by whoever wants to know. */
export function BundleWarmth({ id, name, at_once }: { id: string; name: string; at_once: boolean }) {
  const [asked, setAsked] = useState(false)
  if (at_once || asked) return <Observed id={id} />
  return (
    <Button look="quiet" aria-label={`Show where ${name} is warm`} onClick={() => setAsked(true)}>
      Show
    </Button>
  )
}

function Observed({ id }: { id: string }) {
  const load = useCallback((signal: AbortSignal) => bundleWarmth(id, signal), [id])
  const { state, reload } = useResource(load, { poll_ms: POLL_MS })
  if (state.kind === 'loading') return <span className="skeleton" />
  if (state.kind === 'failed')
    return (
      <>
        Not loaded: {state.error.message} <Button onClick={reload}>Try again</Button>
      </>
    )
  const { targets } = state.value
  if (targets.length === 0) return <span className="muted">Nowhere: no call with it has completed.</span>
  return (
    <ul>
      {targets.slice(0, TARGETS_SHOWN).map((target) => (
        <Target key={`${target.target} ${target.model}`} target={target} />
      ))}
      {targets.length > TARGETS_SHOWN && <li className="muted">and {targets.length - TARGETS_SHOWN} more</li>}
    </ul>
  )
}

const Target = ({ target }: { target: Warmth['targets'][number] }) => (
  <li>
    {target.cluster_id === null ? (
      target.provider
    ) : (
      <Link to={`/clusters/${target.cluster_id}`}>{target.provider}</Link>
    )}
    , {target.model}: {percent(target.last_cached_tokens, target.last_input_tokens)} cached{' '}
    <span className="muted">
      <TimeAgo at={target.last_used_at} />
    </span>
  </li>
)
