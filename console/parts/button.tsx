// A button that says what it does, and that it is doing it.
import type { ButtonHTMLAttributes } from 'react'
import { Link } from '../state/navigation.tsx'

type Look = 'primary' | 'plain' | 'quiet' | 'danger'

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: Look
  busy?: boolean
}

/** While busy it keeps the focus and its width, and does nothing. */
export function Button({ look = 'plain', busy = false, children, onClick, ...more }: ButtonProps) {
  return (
    <button
      type="button"
      {...more}
      className={`button button-${look}`}
      aria-disabled={busy || undefined}
      data-busy={busy || undefined}
      onClick={busy ? (event) => event.preventDefault() : onClick}
    >
      <span className="button-label">{children}</span>
      {busy && <span className="spinner" aria-hidden="true" />}
    </button>
  )
}

export const LinkButton = ({ to, look = 'plain', children }: { to: string; look?: Look; children: string }) => (
  <Link to={to} className={`button button-${look}`}>
    <span className="button-label">{children}</span>
  </Link>
)
