// One generation at a time, as it comes: the text so far, its headers, how it ended, and its trace once it is written.
import { useCallback, useEffect, useRef, useState } from 'react'
import type { ApiError } from '../api/api-client.ts'
import { findTrace, type GenerationRequest, generate, type Trace } from '../api/generation-calls.ts'
import { asApiError } from './resource.ts'

const TRACE_TRIES = 12
const TRACE_WAIT_MS = 400

export interface Run {
  phase: 'streaming' | 'completed' | 'stopped' | 'failed'
  text: string
  headers: ReadonlyMap<string, string>
  error?: ApiError
  /** What it cost is known behind the end of a stream only (R41). */
  trace?: Trace
  /** The trace did not appear; what it cost stands in usage later. */
  untold?: boolean
}

const NEW: Run = { phase: 'streaming', text: '', headers: new Map() }

export interface Generation {
  run: Run | undefined
  start(request: GenerationRequest, hints: string | undefined): Promise<Run>
  stop(): void
  clear(): void
}

export function useGeneration(): Generation {
  const [run, setRun] = useState<Run>()
  const under_way = useRef<AbortController>(undefined)
  useEffect(() => () => under_way.current?.abort(), [])

  const start = useCallback(async (request: GenerationRequest, hints: string | undefined) => {
    const controller = new AbortController()
    under_way.current = controller
    let now = NEW
    const show = (more: Partial<Run>) => {
      now = { ...now, ...more }
      setRun(now)
    }
    show({})
    show(await streamed(request, hints, { show, controller, textSoFar: () => now.text }))
    const trace_id = now.headers.get('agent-trace-id')
    if (trace_id !== undefined) void traced(trace_id).then((told) => under_way.current === controller && show(told))
    return now
  }, [])

  const stop = useCallback(() => under_way.current?.abort(), [])
  const clear = useCallback(() => {
    under_way.current = undefined
    setRun(undefined)
  }, [])
  return { run, start, stop, clear }
}

interface Streaming {
  show(more: Partial<Run>): void
  textSoFar(): string
  controller: AbortController
}

async function streamed(
  request: GenerationRequest,
  hints: string | undefined,
  { show, textSoFar, controller: { signal } }: Streaming,
): Promise<Partial<Run>> {
  try {
    await generate(request, hints, {
      signal,
      onHeaders: (headers) => show({ headers }),
      onText: (delta) => show({ text: textSoFar() + delta }),
    })
    return { phase: 'completed' }
  } catch (cause) {
    return signal.aborted ? { phase: 'stopped' } : { phase: 'failed', error: asApiError(cause) }
  }
}

/** It is written as the answer ends, or shortly after somebody stopped it. */
async function traced(trace_id: string): Promise<Partial<Run>> {
  for (let attempt = 0; attempt < TRACE_TRIES; attempt++) {
    const trace = await findTrace(trace_id).catch(() => undefined)
    if (trace) return { trace }
    await new Promise((done) => setTimeout(done, TRACE_WAIT_MS))
  }
  return { untold: true }
}
