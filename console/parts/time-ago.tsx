// How long ago something was, kept current; the exact time is in its title.
import { useNow } from '../state/browser-clock.ts'
import { ago } from './amounts.ts'
import { moment } from './times.ts'

export function TimeAgo({ at }: { at: string | undefined | null }) {
  const now = useNow()
  if (!at) return <span className="muted">never</span>
  return (
    <time dateTime={at} title={moment(at)}>
      {ago(Date.parse(at), now)}
    </time>
  )
}
