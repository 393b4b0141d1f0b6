// Long work in short steps: between two steps the event loop serves whatever else there is. All that is done in steps
// shares one queue, one step a turn, so that a hundred such works at once hold nobody up for longer than one does.
import { setTimeout as sleep } from 'node:timers/promises'

type Waiter = () => void

const waiting: Waiter[] = []

/** Resolves when the next step may be done. */
export const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(letOneGo)
  })

function letOneGo(): void {
  const next = waiting.shift()
  if (waiting.length > 0) setImmediate(letOneGo)
  next?.()
}

const REST_AFTER_MS = 8

let worked_ms = 0
let rest: Promise<void> = Promise.resolve()

/**
 * The same for long work that nobody waits for by the millisecond. `took_ms`: how long its last step took. All such
 * work together rests for as long as it has worked: half of the time is for calls, whoever asks for how many lists.
 */
export async function restingTurn(took_ms: number): Promise<void> {
  worked_ms += took_ms
  if (worked_ms >= REST_AFTER_MS) {
    const as_long = worked_ms
    worked_ms = 0
    rest = rest.then(() => sleep(as_long))
  }
  await rest
  await nextTurn()
}

/** Runs a generator to its end; whatever it does between two `yield`s is one step. */
export async function inTurns<T>(steps: Generator<void, T>): Promise<T> {
  for (;;) {
    await nextTurn()
    const step = steps.next()
    if (step.done) return step.value
  }
}

/** The same without letting anybody else in between: for what is known to be small, and for tests. */
export function atOnce<T>(steps: Generator<void, T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}
