// Something that is loaded: while it comes, when it is there, when it failed, and again from time to time while
// somebody looks. Nothing is asked for while the tab is hidden.
import { useCallback, useEffect, useRef, useState } from 'react'
import { ApiError } from '../api/api-client.ts'
import { nowMs } from './browser-clock.ts'

export type Loaded<T> =
  | { kind: 'loading' }
  | { kind: 'failed'; error: ApiError }
  /** `stale`: the last refresh failed, this is what was known before. `old`: it answers the question before. */
  | { kind: 'ready'; value: T; stale?: ApiError; old?: true }

export interface Resource<T> {
  state: Loaded<T>
  reload(): void
  /** Puts in place what an answer to a change already told. */
  put(value: T): void
}

interface Options {
  /** How long after an answer to ask again. Without it, only once. */
  poll_ms?: number | undefined
  /** Another question keeps the answer before on the page until its own comes, marked as `old`. */
  keep?: boolean
}

const REST_FACTOR = 50 // what took long to load is asked for rarely: at most 2% of the time
const LONGEST_REST_MS = 5 * 60_000 // what seems to have taken hours was asked for by a machine that then slept

/** `tell`: what is there before all of it is. It is shown while nothing else is. */
type Load<T> = (signal: AbortSignal, tell: (part: T) => void) => Promise<T>

/** Loads anew whenever `load` changes: wrap it in useCallback. */
export function useResource<T>(load: Load<T>, { poll_ms, keep = false }: Options = {}): Resource<T> {
  const [state, setState] = useState<Loaded<T>>({ kind: 'loading' })
  const again = useRef<() => void>(() => {})

  useEffect(() => {
    setState((before) => (keep && before.kind === 'ready' ? { ...before, old: true } : { kind: 'loading' }))
    const loop = startLoading({ load, poll_ms, show: setState })
    again.current = loop.now
    return loop.stop
  }, [load, poll_ms, keep])

  const reload = useCallback(() => again.current(), [])
  const put = useCallback((value: T) => setState({ kind: 'ready', value }), [])
  return { state, reload, put }
}

interface Loop<T> {
  load: Load<T>
  poll_ms: number | undefined
  show(next: (before: Loaded<T>) => Loaded<T>): void
}

function startLoading<T>({ load, poll_ms, show }: Loop<T>) {
  let timer: ReturnType<typeof setTimeout> | undefined
  let under_way: AbortController | undefined
  let complete = false

  async function now(): Promise<void> {
    clearTimeout(timer)
    under_way?.abort()
    const controller = new AbortController()
    under_way = controller
    const started = nowMs()
    try {
      const value = await load(controller.signal, (part) => {
        if (!complete && !controller.signal.aborted) show(() => ({ kind: 'ready', value: part }))
      })
      complete ||= !controller.signal.aborted
      if (!controller.signal.aborted) show(() => ({ kind: 'ready', value }))
    } catch (cause) {
      if (!controller.signal.aborted) show((before) => failed(before, cause))
    }
    if (!controller.signal.aborted && poll_ms !== undefined)
      timer = setTimeout(whenSeen, Math.max(poll_ms, restAfter(nowMs() - started)))
  }

  const whenSeen = () => {
    timer = undefined
    if (!document.hidden) void now()
  }

  /** Seen again, and a poll is due that was left out. */
  const onVisibility = () => {
    if (!document.hidden && timer === undefined && poll_ms !== undefined) void now()
  }

  document.addEventListener('visibilitychange', onVisibility)
  void now()
  return {
    now: () => void now(),
    stop() {
      document.removeEventListener('visibilitychange', onVisibility)
      clearTimeout(timer)
      under_way?.abort()
    },
  }
}

const restAfter = (took_ms: number) => Math.min(took_ms * REST_FACTOR, LONGEST_REST_MS)

/** The same, seen as something else. */
export function seenAs<T, U>(
  { state, reload }: Resource<T>,
  as: (value: T) => U,
): Pick<Resource<U>, 'state' | 'reload'> {
  return { reload, state: state.kind === 'ready' ? { ...state, value: as(state.value) } : state }
}

function failed<T>(before: Loaded<T>, cause: unknown): Loaded<T> {
  const error = asApiError(cause)
  return before.kind === 'ready' && !before.old ? { ...before, stale: error } : { kind: 'failed', error }
}

export function asApiError(cause: unknown): ApiError {
  if (cause instanceof ApiError) return cause
  return new ApiError(0, { type: 'fault', message: 'Something went wrong in this page. Reload it and try again.' })
}
