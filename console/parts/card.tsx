// A part of a page with a heading of its own, and numbers that stand for themselves.
import { type ReactNode, useId } from 'react'

interface CardProps {
  title: string
  /** What can be done with what is inside. */
  actions?: ReactNode
  children: ReactNode
}

export function Card({ title, actions, children }: CardProps) {
  const id = useId()
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
