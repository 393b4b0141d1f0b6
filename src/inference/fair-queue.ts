// Who goes next where calls wait for one target (R46). Between classes: deficit round robin, 8:4:1 on estimated input
// tokens, so that no class starves. Inside a class: the projects in turn. Inside a project: the earliest start-by.
import type { QosClass } from '../hints/hints.ts'

export interface Queued {
  readonly class: QosClass
  readonly project_id: string
  readonly input_tokens_est: number
  /** When it must start to keep what it was asked; Infinity where nothing was. */
  readonly start_by: number
  readonly arrived_at: number
}

const SHARES: Record<QosClass, number> = { interactive: 8, standard: 4, background: 1 }
export const BACKGROUND_SHARE = SHARES.background / (SHARES.interactive + SHARES.standard + SHARES.background)
// A small share at a time keeps turns short. A call costs one at the least: it takes a slot however short its prompt.
const QUANTUM_TOKENS = 256
const COST_MAX = 1 << 20 // bounds how many turns a huge prompt has to save up for

interface Lane<Q> {
  readonly grant: number
  /** What the lane may still spend in its turn, and what it saved up for a call that was too dear so far. */
  deficit: number
  /** A map keeps the order in which its keys came: whose turn it was goes to the back. */
  readonly projects: Map<string, Q[]>
}

export function fairQueue<Q extends Queued>() {
  const lanes: Record<QosClass, Lane<Q>> = {
    interactive: lane('interactive'),
    standard: lane('standard'),
    background: lane('background'),
  }
  const turns = Object.values(lanes)
  let turn = 0
  let granted = false
  let size = 0

  return {
    size: () => size,

    push(call: Q): void {
      const { projects } = lanes[call.class]
      const calls = projects.get(call.project_id)
      size++
      if (!calls) return void projects.set(call.project_id, [call])
      calls.splice(calls.findLastIndex((other) => !isBefore(call, other)) + 1, 0, call)
    },

    /** Takes out one that no longer waits; the place of its project in the round stays. */
    remove(call: Q): void {
      const { projects } = lanes[call.class]
      const calls = projects.get(call.project_id) ?? []
      const at = calls.indexOf(call)
      if (at < 0) return
      calls.splice(at, 1)
      if (calls.length === 0) projects.delete(call.project_id)
      size--
    },

    next(): Q | undefined {
      while (size > 0) {
        const lane = turns[turn] as Lane<Q>
        const call = first(lane)
        if (call && affords(lane, costOf(call), granted)) {
          granted = true
          size--
          return takeFirst(lane)
        }
        if (!call) lane.deficit = 0 // a share is for those who wait: none is saved up without them
        turn = (turn + 1) % turns.length
        granted = false
      }
      return undefined
    },
  }
}

const lane = <Q>(qos_class: QosClass): Lane<Q> => ({
  grant: SHARES[qos_class] * QUANTUM_TOKENS,
  deficit: 0,
  projects: new Map(),
})

/** Always between its bounds, also where the estimate is no number: no lane could ever save up for that. */
const costOf = ({ input_tokens_est }: Queued) => Math.min(Math.max(input_tokens_est || 0, QUANTUM_TOKENS), COST_MAX)

/** Spends the cost where the lane has it. Each turn begins with the lane's share on top of what it saved. */
function affords(lane: Lane<unknown>, cost: number, granted: boolean): boolean {
  // Savings were for a call of a certain cost. Where it is gone, the cheaper one after it must not inherit them.
  if (!granted) lane.deficit = Math.min(lane.deficit, cost) + lane.grant
  if (lane.deficit < cost) return false
  lane.deficit -= cost
  return true
}

function first<Q>({ projects }: Lane<Q>): Q | undefined {
  for (const [call] of projects.values()) return call
  return undefined
}

function takeFirst<Q>({ projects }: Lane<Q>): Q | undefined {
  for (const [project_id, calls] of projects) {
    const call = calls.shift()
    projects.delete(project_id)
    if (calls.length > 0) projects.set(project_id, calls)
    return call
  }
  return undefined
}

/** Equals keep the order in which they were pushed. */
const isBefore = (one: Queued, other: Queued) =>
  one.start_by < other.start_by || (one.start_by === other.start_by && one.arrived_at < other.arrived_at)
