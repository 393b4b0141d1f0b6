// Who goes next where calls wait for one target. Between projects: who has the least of the target (R78), of equals the
// one that was not served for the longest. Inside a project: the classes by deficit round robin, 8:4:1 on estimated
// input tokens, so that none starves (R46); inside a class the earliest start-by.
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

/** How much of the target a project has now. */
export type LevelOf = (project_id: string) => number

export function fairQueue<Q extends Queued>() {
  /** A map keeps the order in which its keys came: whose turn it was goes to the back. */
  const projects = new Map<string, ReturnType<typeof classQueue<Q>>>()
  let size = 0

  return {
    size: () => size,

    push(call: Q): void {
      let own = projects.get(call.project_id)
      if (!own) {
        own = classQueue<Q>()
        projects.set(call.project_id, own)
      }
      own.push(call)
      size++
    },

    /** Takes out one that no longer waits; the place of its project in the round stays. */
    remove(call: Q): void {
      const own = projects.get(call.project_id)
      if (!own?.remove(call)) return
      if (own.size() === 0) projects.delete(call.project_id)
      size--
    },

    /** Which project is next. */
    lowest(levelOf: LevelOf): string | undefined {
      let lowest: string | undefined
      let least = Number.POSITIVE_INFINITY
      for (const project_id of projects.keys()) {
        const level = levelOf(project_id)
        if (level < least) [lowest, least] = [project_id, level]
      }
      return lowest
    },

    /** The next call of that project. */
    next(project_id: string): Q | undefined {
      const own = projects.get(project_id)
      const call = own?.next()
      if (!own || !call) return undefined
      projects.delete(project_id)
      if (own.size() > 0) projects.set(project_id, own)
      size--
      return call
    },
  }
}

interface Lane<Q> {
  readonly grant: number
  /** What the lane may still spend in its turn, and what it saved up for a call that was too dear so far. */
  deficit: number
  /** The earliest start-by first. */
  readonly calls: Q[]
}

/** The calls of one project. */
function classQueue<Q extends Queued>() {
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
      const { calls } = lanes[call.class]
      calls.splice(calls.findLastIndex((other) => !isBefore(call, other)) + 1, 0, call)
      size++
    },

    remove(call: Q): boolean {
      const { calls } = lanes[call.class]
      const at = calls.indexOf(call)
      if (at < 0) return false
      calls.splice(at, 1)
      size--
      return true
    },

    next(): Q | undefined {
      while (size > 0) {
        const lane = turns[turn] as Lane<Q>
        const [call] = lane.calls
        if (call && affords(lane, costOf(call), granted)) {
          granted = true
          size--
          return lane.calls.shift()
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
  calls: [],
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

/** Equals keep the order in which they were pushed. */
const isBefore = (one: Queued, other: Queued) =>
  one.start_by < other.start_by || (one.start_by === other.start_by && one.arrived_at < other.arrived_at)
