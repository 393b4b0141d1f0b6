// Warm by requests, not by a second on the clock: a large program is compiled only after tens of thousands of them, and
// a short warm-up flatters the small reference. A contender is warm when its cost per request has stopped falling.
import { type Conditions, type Contender, slice } from './measure.ts'

export interface WarmUp {
  name: string
  requests: number
  seconds: number
  /** CPU per request of each slice, in order. */
  slices_us: number[]
  /** Why it ended: the cost stopped falling, or the time for it was over. */
  ended: 'steady' | 'out of time'
}

const SLICE_SECONDS = 1
const WARM_SECONDS = 20
const REQUESTS_MIN = 20_000
const STILL_FALLING = 0.97 // a slice this much cheaper than all before it: the compiler is still at work
const STEADY_SLICES = 3

export async function warmUp(contender: Contender, conditions: Conditions): Promise<WarmUp> {
  const within = conditions.warm_seconds ?? WARM_SECONDS
  const connections = contender.connections ?? conditions.connections
  const warm: WarmUp = { name: contender.name, requests: 0, seconds: 0, slices_us: [], ended: 'out of time' }
  while (warm.seconds < within) {
    const { result, cpu_us } = await slice(contender, SLICE_SECONDS, connections)
    warm.requests += result.requests
    warm.seconds += result.seconds
    warm.slices_us.push(cpu_us)
    if (result.requests === 0 || result.failures === result.requests)
      throw new Error(`${contender.name} answers nothing but failures`)
    if (isSteady(warm.slices_us) && warm.requests >= (contender.warm_requests ?? REQUESTS_MIN)) {
      warm.ended = 'steady'
      break
    }
  }
  return warm
}

/** The last few slices brought nothing that is clearly below the best before them. */
export function isSteady(slices_us: readonly number[]): boolean {
  if (slices_us.length <= STEADY_SLICES) return false
  const before = Math.min(...slices_us.slice(0, -STEADY_SLICES))
  return Math.min(...slices_us.slice(-STEADY_SLICES)) > before * STILL_FALLING
}
