// Where people come in: to the overview once something was generated, before that to the first steps.
import { useEffect } from 'react'
import { usageEvents } from '../../api/usage-calls.ts'
import { LoadFailure } from '../../parts/load-failure.tsx'
import { navigate } from '../../state/navigation.tsx'
import { useResource } from '../../state/resource.ts'

const anyUsage = (signal: AbortSignal) => usageEvents({ limit: '1' }, signal)

export default function HomePage() {
  const { state, reload } = useResource(anyUsage)
  useEffect(() => {
    if (state.kind === 'ready') navigate(state.value.length > 0 ? '/overview' : '/start', { replace: true })
  }, [state])
  if (state.kind === 'failed') return <LoadFailure what="The project" error={state.error} onRetry={reload} />
  return (
    <p className="waiting" role="status">
      Loading …
    </p>
  )
}
