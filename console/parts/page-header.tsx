// The top of a page: its title, which is also the window's, one sentence, and what can be done here.
import { type ReactNode, useEffect } from 'react'
import { Link } from '../state/navigation.tsx'

interface PageHeaderProps {
  title: string
  lead?: ReactNode
  /** The page that this one belongs to. */
  up?: { to: string; label: string }
  actions?: ReactNode
}

export function PageHeader({ title, lead, up, actions }: PageHeaderProps) {
  useEffect(() => {
    document.title = `${title} · Switchyard`
  }, [title])
  return (
    <header className="page-header">
      <div>
        {up && (
          <Link to={up.to} className="page-up">
            ← {up.label}
          </Link>
        )}
        <h1>{title}</h1>
        {lead && <div className="page-lead">{lead}</div>}
      </div>
      {actions && <div className="page-actions">{actions}</div>}
    </header>
  )
}
