// Whether the project has had an answer from a real model: then the first steps are over, and leave the menu.
import { useCallback, useEffect, useSyncExternalStore } from 'react'
import { usageEvents } from '../api/usage-calls.ts'

const PLACEHOLDER = 'placeholder'

/** Undefined while it is not known. */
let known: { project_id: string; is_over: boolean } | undefined
const listeners = new Set<() => void>()

function tell(next: typeof known): void {
  known = next
  for (const listener of listeners) listener()
}

/** Somebody saw one arrive. */
export function noteAnswer(project_id: string, mode: string): void {
  if (mode !== PLACEHOLDER) tell({ project_id, is_over: true })
}

export function useFirstStepsOver(project_id: string | undefined): boolean | undefined {
  useEffect(() => {
    if (project_id === undefined || known?.project_id === project_id) return
    const asking = new AbortController()
    usageEvents({ limit: '1' }, asking.signal).then(
      ([latest]) => tell({ project_id, is_over: latest !== undefined && latest.mode !== PLACEHOLDER }),
      () => {}, // the menu is as good without it
    )
    return () => asking.abort()
  }, [project_id])
  const subscribe = useCallback((listener: () => void) => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }, [])
  const state = useSyncExternalStore(subscribe, () => known)
  return state?.project_id === project_id ? state?.is_over : undefined
}
