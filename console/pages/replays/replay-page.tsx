// One replay run: what is planned, how far it is, what it has cost, and what it found.
import { type ReactNode, useCallback, useState } from 'react'
import { findReplay, type ReplayRun, type ReplayStep, stepReplay } from '../../api/replay-calls.ts'
import { count, money } from '../../parts/amounts.ts'
import { Button } from '../../parts/button.tsx'
import { Card, Stat, Stats } from '../../parts/card.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { ShareMeter } from '../../parts/share-meter.tsx'
import { SubjectPage } from '../../parts/subject-page.tsx'
import { useToast } from '../../parts/toasts.tsx'
import { useResource } from '../../state/resource.ts'
import { useSubmission } from '../../state/submission.ts'
import { ComparisonCard } from './comparison-card.tsx'
import { ExecuteReplayDialog } from './execute-replay-dialog.tsx'
import { ReplayItems } from './replay-items.tsx'
import { askedAt, isUnderWay, ReplayStatus } from './replay-words.tsx'

const POLL_MS = 2_000
const UP = { to: '/replays', label: 'Replays' }

export default function ReplayPage({ id = '' }: { id?: string }) {
  const run = useResource(
    useCallback((signal) => findReplay(id, signal), [id]),
    { poll_ms: POLL_MS },
  )
  return (
    <SubjectPage title="Replay" what="The replay run" up={UP} resource={run}>
      {(known, stale) => (
        <Found run={known} onChanged={run.put}>
          {stale}
        </Found>
      )}
    </SubjectPage>
  )
}

interface FoundProps {
  run: ReplayRun
  onChanged(run: ReplayRun): void
  children: ReactNode
}

function Found({ run, onChanged, children }: FoundProps) {
  const over = run.items.done + run.items.skipped + run.items.failed
  return (
    <>
      <PageHeader
        title={run.id}
        up={UP}
        lead={
          <span className="row">
            <ReplayStatus status={run.status} />
            <span>{askedAt(run)}</span>
          </span>
        }
        actions={<Deeds run={run} onChanged={onChanged} />}
      />
      {children}
      {run.error && <p className="notice">{run.error}</p>}
      <Card title={run.status === 'planned' ? 'Plan' : 'Progress'}>
        {run.status !== 'planned' && (
          <ShareMeter
            label="Done"
            is_progress
            share={over / Math.max(1, run.items.total)}
            detail={`${count(over)} of ${count(run.items.total)} calls`}
          />
        )}
        <Figures run={run} />
      </Card>
      {run.items.done > 0 && <ComparisonCard id={run.id} done={run.items.done} />}
      <ReplayItems id={run.id} over={over} />
    </>
  )
}

function Figures({ run }: { run: ReplayRun }) {
  const { items, plan, max_cost_micros, spent_micros, returned_micros, control } = run
  return (
    <Stats>
      <Stat label="Calls">{count(items.total)}</Stat>
      <Stat label="Can be asked">{count(items.total - items.skipped)}</Stat>
      <Stat label="With the recorded tokens">{money(plan.low_micros)}</Stat>
      <Stat label="At the most">{money(plan.high_micros)}</Stat>
      <Stat label="Cached tokens expected">{count(plan.expected_cached_tokens)}</Stat>
      <Stat label="Control arm">{control ? 'yes' : 'no'}</Stat>
      {max_cost_micros !== null && <Stat label="Set aside">{money(max_cost_micros)}</Stat>}
      {max_cost_micros !== null && <Stat label="Spent">{money(spent_micros)}</Stat>}
      {returned_micros !== null && <Stat label="Returned">{money(returned_micros)}</Stat>}
      {items.skipped > 0 && <Stat label="Skipped">{count(items.skipped)}</Stat>}
      {items.failed > 0 && <Stat label="Failed">{count(items.failed)}</Stat>}
    </Stats>
  )
}

function Deeds({ run, onChanged }: { run: ReplayRun; onChanged(run: ReplayRun): void }) {
  const [executing, setExecuting] = useState(false)
  const say = useToast()
  const sending = useSubmission(async (step: ReplayStep) => {
    const changed = await stepReplay(run.id, step)
    onChanged(changed)
    say(`The run is ${changed.status}.`)
  })
  const step = (name: ReplayStep, label: string) => (
    <Button look={name === 'cancel' ? 'danger' : 'plain'} busy={sending.busy} onClick={() => void sending.submit(name)}>
      {label}
    </Button>
  )
  const is_open = isUnderWay(run) || run.status === 'paused'
  return (
    <>
      {run.status === 'planned' && run.items.pending > 0 && (
        <Button look="primary" onClick={() => setExecuting(true)}>
          Execute
        </Button>
      )}
      {isUnderWay(run) && step('pause', 'Pause')}
      {run.status === 'paused' && step('resume', 'Resume')}
      {(is_open || run.status === 'planned') && step('cancel', 'Cancel')}
      {sending.error && <p role="alert">{sending.error.message}</p>}
      {executing && <ExecuteReplayDialog run={run} onClose={() => setExecuting(false)} onBegun={onChanged} />}
    </>
  )
}
