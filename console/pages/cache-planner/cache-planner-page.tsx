// §4.9: whether to fetch a cached prefix or to compute it again: the plan, and an estimate of what goes into it.
import { useRef, useState } from 'react'
import type { PlanRequest } from '../../api/cache-plan-calls.ts'
import { PageHeader } from '../../parts/page-header.tsx'
import { useToast } from '../../parts/toasts.tsx'
import { EstimateCard } from './estimate-card.tsx'
import { PlanCard } from './plan-card.tsx'
import { draftOf, exampleDraft } from './plan-draft.ts'

export default function CachePlannerPage() {
  const [draft, setDraft] = useState(exampleDraft)
  const plan = useRef<HTMLDivElement>(null)
  const say = useToast()
  function take(request: PlanRequest) {
    setDraft(draftOf(request))
    plan.current?.scrollIntoView({ block: 'start' })
    plan.current?.focus({ preventScroll: true })
    say('The plan has the estimated costs now.')
  }
  return (
    <>
      <PageHeader
        title="Cache planner"
        lead="Is a cached prefix worth fetching, or is the GPU faster? Nothing is stored, and no GPU is used."
      />
      <div ref={plan} tabIndex={-1} className="anchor">
        <PlanCard draft={draft} onChange={setDraft} />
      </div>
      <EstimateCard onTake={take} />
    </>
  )
}
