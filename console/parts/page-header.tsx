// The top of a page: its title, which is also the window's, one sentence, and what can be done here.
import { type ReactNode, useEffect, useRef } from 'react'
import { Link, takeArrival } from '../state/navigation.tsx'
import { titleWindow } from '../state/window-title.ts'

interface PageHeaderProps {
  title: string
  lead?: ReactNode
  /** The page that this one belongs to. */
  up?: { to: string; label: string }
  actions?: ReactNode
}

let has_focused = false

export function PageHeader({ title, lead, up, actions }: PageHeaderProps) {
  useEffect(() => {
    titleWindow(title)
  }, [title])
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    // Whoever came from another page begins to read here; also where a heading takes the place of one that had it.
    const is_lost = document.activeElement === document.body && has_focused
    if (!takeArrival() && !is_lost) return
    has_focused = true
    heading.current?.focus({ preventScroll: true })
  }, [])
  return (
    <header className="page-header">
      <div>
        {up && (
          <Link to={up.to} className="page-up">
            ← {up.label}
          </Link>
        )}
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {lead && <div className="page-lead">{lead}</div>}
      </div>
      {actions && <div className="page-actions">{actions}</div>}
    </header>
  )
}
