// Short words about what was done, said to screen readers too. What went wrong stands where it went wrong instead.
import { createContext, type ReactNode, useCallback, useContext, useState } from 'react'

const SHOWN_MS = 6_000

interface Toast {
  id: number
  text: string
}

const ToastContext = createContext<(text: string) => void>(() => {})

export const useToast = () => useContext(ToastContext)

let ids = 0

export function Toasts({ children }: { children: ReactNode }) {
  const [toasts, setToasts] = useState<readonly Toast[]>([])
  const say = useCallback((text: string) => {
    const toast = { id: ++ids, text }
    setToasts((before) => [...before.slice(-2), toast])
    setTimeout(() => setToasts((before) => before.filter(({ id }) => id !== toast.id)), SHOWN_MS)
  }, [])
  return (
    <ToastContext value={say}>
      {children}
      <div className="toasts" role="status" aria-live="polite">
        {toasts.map(({ id, text }) => (
          <p key={id} className="toast">
            {text}
          </p>
        ))}
      </div>
    </ToastContext>
  )
}
