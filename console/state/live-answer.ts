// What the service says to something that is still being typed: asked once the typing rests. The answer before stays
// until the next one comes, so that nothing flickers.
import { useEffect, useRef, useState } from 'react'
import type { ApiError } from '../api/api-client.ts'
import { asApiError } from './resource.ts'

const REST_MS = 200

export interface LiveAnswer<A> {
  /** The latest answer; it may be to an earlier question, which `current` tells. */
  value: A | undefined
  error: ApiError | undefined
  /** It answers what is asked now. */
  current: boolean
}

interface Told<A> {
  question: string | undefined
  value: A | undefined
  error: ApiError | undefined
}

/** `undefined` is a question that cannot be asked yet. Equal questions are asked once. */
export function useLiveAnswer<Q, A>(question: Q | undefined, ask: (question: Q) => Promise<A>): LiveAnswer<A> {
  const text = question === undefined ? undefined : JSON.stringify(question)
  const [told, setTold] = useState<Told<A>>({ question: undefined, value: undefined, error: undefined })
  const latest = useRef(ask)
  latest.current = ask

  useEffect(() => {
    if (text === undefined) return
    let dropped = false
    const timer = setTimeout(async () => {
      try {
        const value = await latest.current(JSON.parse(text) as Q)
        if (!dropped) setTold({ question: text, value, error: undefined })
      } catch (cause) {
        if (!dropped) setTold((before) => ({ ...before, question: text, error: asApiError(cause) }))
      }
    }, REST_MS)
    return () => {
      dropped = true
      clearTimeout(timer)
    }
  }, [text])

  return { value: told.value, error: told.error, current: text !== undefined && told.question === text }
}
