// A part of a page with a heading of its own, and numbers that stand for themselves.
import { type ReactNode, useId } from 'react'
import { useIsNarrow } from '../state/narrow.ts'
import { Folded } from './fold.tsx'

interface CardProps {
  title: string
  /** What can be done with what is inside. */
  actions?: ReactNode
  /** What it comes to, in a few words: on a phone they stand for the rest, which is folded. */
  gist?: string
  /** With a gist: it unfolds by itself. */
  is_open?: boolean
  children: ReactNode
}

export function Card({ title, actions, gist, is_open = false, children }: CardProps) {
  const id = useId()
  const is_narrow = useIsNarrow()
  if (gist !== undefined && is_narrow)
    return (
      <section className="card" aria-label={title}>
        <Folded title={title} gist={gist} is_open={is_open}>
          {actions && <div className="fold-actions">{actions}</div>}
          {children}
        </Folded>
      </section>
    )
  return (
    <section className="card" aria-labelledby={id}>
      <header className="card-header">
        <h2 id={id}>{title}</h2>
        {actions}
      </header>
      {children}
    </section>
  )
}

export const Stats = ({ children }: { children: ReactNode }) => <dl className="stats">{children}</dl>

interface StatProps {
  label: string
  /** What is long, such as an address, takes two places. */
  wide?: true
  children: ReactNode
}

export const Stat = ({ label, wide, children }: StatProps) => (
  <div className="stat" data-wide={wide}>
    <dt>{label}</dt>
    <dd>{children}</dd>
  </div>
)
