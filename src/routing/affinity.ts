// Which target a conversation went to last: its cache is there. In memory only; it may be forgotten at any time.
import { type Clock, MINUTE_MS } from '../core/clock.ts'

const IDLE_MS = 10 * MINUTE_MS
const CONVERSATIONS_MAX = 100_000

export type Affinity = ReturnType<typeof affinity>

export function affinity(clock: Clock) {
  const last = new Map<string, { target_id: string; at: number }>() // oldest first
  const nameOf = (project_id: string, session_id: string) => `${project_id} ${session_id}`

  return {
    targetOf(project_id: string, session_id: string | undefined): string | undefined {
      if (session_id === undefined) return undefined
      const known = last.get(nameOf(project_id, session_id))
      return known && clock.now() - known.at < IDLE_MS ? known.target_id : undefined
    },

    remember(project_id: string, session_id: string | undefined, target_id: string): void {
      if (session_id === undefined) return
      const name = nameOf(project_id, session_id)
      last.delete(name)
      last.set(name, { target_id, at: clock.now() })
      const [oldest] = last.keys()
      if (last.size > CONVERSATIONS_MAX && oldest !== undefined) last.delete(oldest)
    },
  }
}
