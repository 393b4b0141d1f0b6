// Something that is sent: once at a time, never twice for one wish (§11), with what went wrong kept to be shown.
import { useRef, useState } from 'react'
import type { ApiError } from '../api/api-client.ts'
import { attempts } from '../api/idempotency-key.ts'
import { asApiError } from './resource.ts'

export interface Submission<Body> {
  busy: boolean
  error: ApiError | undefined
  /** Resolves with whether it was done. A second call while the first is under way does nothing. */
  submit(body: Body): Promise<boolean>
  clear(): void
}

/** `send` gets the idempotency key of this wish; endpoints that take none ignore it. */
export function useSubmission<Body>(send: (body: Body, idempotency_key: string) => Promise<void>): Submission<Body> {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<ApiError>()
  // State is only read with the next drawing; two clicks can come before it.
  const under_way = useRef(false)
  const keys = useRef(attempts())

  async function submit(body: Body): Promise<boolean> {
    if (under_way.current) return false
    under_way.current = true
    setBusy(true)
    setError(undefined)
    try {
      await send(body, keys.current.keyFor(body))
      keys.current.succeeded()
      return true
    } catch (cause) {
      setError(asApiError(cause))
      return false
    } finally {
      under_way.current = false
      setBusy(false)
    }
  }

  return { busy, error, submit, clear: () => setError(undefined) }
}
