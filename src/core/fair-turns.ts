// R78: requests go on one project after the other. A turn of the event loop lets them for a few milliseconds; those
// that are left wait for the next turn, a queue for each project. However many of one project arrive at once, or are
// answered at once by a store that answers many together, whoever asks for another waits for no more than one of them,
// and who asks for little does not wait at all. Whoever has not begun after a while is told so instead: where more
// comes than can be done, waiting for longer helps nobody.

const TURN_MS = 4
const TURN_MOST_MS = 8
/** Of a project that has none waiting, so many go on in a turn without time left; and so many of all such projects. */
const AHEAD_EACH = 8
const AHEAD_MOST = 32
/** Below what a stop waits for, and what clients do. */
export const WAIT_MOST_MS = 20_000

export interface TurnNeeds {
  now_ms(): number
  /** Runs it in the next turn, behind what has arrived by then. */
  nextTurn(work: () => void): void
  /** Runs it behind what follows at once from what has just begun. */
  afterwards(work: () => void): void
}

const OF_NODE: TurnNeeds = {
  now_ms: () => performance.now(),
  nextTurn: (work) => void setImmediate(work),
  afterwards: (work) => process.nextTick(queueMicrotask, work), // promises are settled behind all ticks
}

type Start = () => void

interface New {
  start: Start
  tooLate(): void
  since_ms: number
}

/** Of one project. What has begun goes before what has not: it is answered the sooner, and holds less meanwhile. */
interface Queue {
  begun: Start[]
  new: New[]
}

export type FairTurns = ReturnType<typeof fairTurns>

export function fairTurns({ now_ms, nextTurn, afterwards }: TurnNeeds = OF_NODE) {
  /** By project; the first has waited longest for its turn. */
  const waiting = new Map<string, Queue>()
  /** When the first request of this turn went on. */
  let turn_began_ms: number | undefined
  /** How long they may go on in one. */
  let lasts_ms = TURN_MS
  /** By project: how many went on in this turn although it had no time left, or others waited. */
  const ahead = new Map<string, number>()
  let ahead_of_all = 0

  const isOver = () => turn_began_ms !== undefined && now_ms() - turn_began_ms >= lasts_ms

  /** Half of the time is for requests, whatever else there is to do: else a busy server leaves them next to nothing. */
  function endTurn(): void {
    const took_ms = turn_began_ms === undefined ? 0 : now_ms() - turn_began_ms
    lasts_ms = Math.min(TURN_MOST_MS, Math.max(TURN_MS, took_ms / 2))
    turn_began_ms = undefined
    ahead.clear()
    ahead_of_all = 0
    if (waiting.size > 0) beginNext()
  }

  function beginTurn(): void {
    if (turn_began_ms !== undefined) return
    turn_began_ms = now_ms()
    nextTurn(endTurn)
  }

  function beginNext(): void {
    const [first] = waiting
    if (!first || isOver()) return // the end of the turn goes on
    const [project_id, queue] = first
    const start = queue.begun.shift() ?? inTime(queue.new.shift() as New)
    waiting.delete(project_id)
    if (queue.begun.length + queue.new.length > 0) waiting.set(project_id, queue) // behind the others
    beginTurn()
    if (waiting.size > 0) afterwards(beginNext)
    start()
  }

  const inTime = ({ start, tooLate, since_ms }: New): Start => (now_ms() - since_ms > WAIT_MOST_MS ? tooLate : start)

  function mayGoOn(project_id: string): boolean {
    if (waiting.size > 0 || isOver()) return mayGoAhead(project_id)
    beginTurn()
    return true
  }

  /** A call is four or five of these: of a project with few calls, none waits for those who have many. */
  function mayGoAhead(project_id: string): boolean {
    const gone = ahead.get(project_id) ?? 0
    if (gone === AHEAD_EACH || ahead_of_all === AHEAD_MOST || waiting.has(project_id)) return false
    ahead.set(project_id, gone + 1)
    ahead_of_all++
    return true
  }

  function queueOf(project_id: string): Queue {
    const known = waiting.get(project_id)
    if (known) return known
    const queue: Queue = { begun: [], new: [] }
    waiting.set(project_id, queue)
    return queue
  }

  return {
    /** Starts a request of this project: now, or when it is its turn, unless that comes too late. */
    begin(project_id: string, start: Start, tooLate: () => void): void {
      if (mayGoOn(project_id)) start()
      else queueOf(project_id).new.push({ start, tooLate, since_ms: now_ms() })
    },

    /** The same for one that has begun, and waited for others since. */
    goOn(project_id: string, start: Start): void {
      if (mayGoOn(project_id)) start()
      else queueOf(project_id).begun.push(start)
    },

    /** The same as a promise: undefined where it need not wait. */
    next: (project_id: string): Promise<void> | undefined =>
      mayGoOn(project_id) ? undefined : new Promise((resolve) => void queueOf(project_id).begun.push(resolve)),
  }
}
