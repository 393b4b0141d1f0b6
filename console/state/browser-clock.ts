// The browser's time: the one place of the console that asks for it. What shows an age is drawn again every so often.
import { useSyncExternalStore } from 'react'

const TICK_MS = 15_000

export const nowMs = () => Date.now()

let shown = nowMs()
const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= setInterval(tick, TICK_MS)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

function tick(): void {
  shown = nowMs()
  for (const listener of listeners) listener()
}

/** A `now` that moves by itself, the same for everything on the page. */
export const useNow = () => useSyncExternalStore(subscribe, () => shown)
