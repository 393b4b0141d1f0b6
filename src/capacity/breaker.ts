// Circuit breakers (R47, R78): five failures in a row, and a target is left alone for 30 s; then one call finds out
// whether it is back. They are counted by target, project and kind of call, so that what one project sends does not
// close a target to another; common-circuit.ts says when everyone leaves it alone.
import type { Clock } from '../core/clock.ts'
import { type CallKind, isOfItsSize } from '../providers/provider.ts'
import {
  type CommonCircuit,
  close,
  closedCircuit,
  FAILURES_MAX,
  hasPassed,
  isOpen,
  mayProbe,
  noteFailedProbe,
  noteFailure,
  noteGoodProbe,
  noteProbe,
  OPEN_MS,
} from './common-circuit.ts'

const CIRCUITS_MAX = 10_000

/** Who calls, and what kind of call it is. */
export interface Asker {
  kind: CallKind
  caller: { project_id: string }
}

/** For whom a target is left alone. */
export type LeftBy = 'everyone' | 'project'

export interface LeftAlone {
  target: string
  left_by: LeftBy
  /** Where it is the project's calls of one kind. */
  kind: CallKind | undefined
}

export interface Breakers {
  /** For whoever is about to dial: true may be the one probe. To look without taking it, ask `leftAlone`. */
  allows(target_id: string, asker: Asker): boolean
  succeeded(target_id: string, asker: Asker): void
  /** `failure` as the verdict names it: a connection concerns everyone, the size of an answer no other project. */
  failed(target_id: string, asker: Asker, failure: string): void
  /** What a probe outside of calls found: it concerns everyone. */
  probed(target_id: string, is_there: boolean): void
  /** Why such calls leave it alone, and for how long still; undefined where they do not. */
  leftAlone(target_id: string, asker: Asker): { reason: string; wait_ms: number } | undefined
  /** Targets that a project's calls leave alone now, or that wait for the one call that finds out. */
  notClosed(project_id: string): LeftAlone[]
  /** How many circuits are not closed. */
  count(): Record<LeftBy, number>
}

interface OwnCircuit {
  readonly project_id: string
  readonly kind: CallKind
  failures: number
  opened_at: number | undefined
  probed_at: number | undefined
}

/** A target that failed last for somebody; no others are known at all. */
interface Trouble {
  readonly id: string
  readonly common: CommonCircuit
  /** By project and kind of call. */
  readonly own: Map<string, OwnCircuit>
}

const nameOf = ({ kind, caller }: Asker) => `${caller.project_id} ${kind}`

/** A circuit that opened, or closed after it was open: everyone's, or a project's. */
export interface Turned {
  target: string
  left_by: LeftBy
  project_id: string
  is_open: boolean
}

export function breakers(clock: Clock, onTurn: (turned: Turned) => void = () => {}): Breakers {
  const troubles = new Map<string, Trouble>()
  let own_circuits = 0

  function troubleOf(id: string): Trouble {
    let trouble = troubles.get(id)
    if (!trouble) {
      trouble = { id, common: closedCircuit(), own: new Map() }
      troubles.set(id, trouble)
    }
    return trouble
  }

  function ownOf(trouble: Trouble, asker: Asker): OwnCircuit {
    const name = nameOf(asker)
    let own = trouble.own.get(name)
    if (!own) {
      const { kind, caller } = asker
      own = { project_id: caller.project_id, kind, failures: 0, opened_at: undefined, probed_at: undefined }
      trouble.own.set(name, own)
      own_circuits++
      makeRoom(trouble)
    }
    return own
  }

  /** What has been in trouble for the longest is forgotten, and gets five more tries. */
  function makeRoom(newest: Trouble): void {
    const isOver = () => own_circuits > CIRCUITS_MAX || troubles.size > CIRCUITS_MAX
    for (const oldest of troubles.values()) {
      if (!isOver()) return
      if (oldest === newest) continue
      own_circuits -= oldest.own.size
      troubles.delete(oldest.id)
    }
    for (const name of newest.own.keys()) {
      if (!isOver()) return
      newest.own.delete(name)
      own_circuits--
    }
  }

  function leftBy(trouble: Trouble | undefined, asker: Asker): LeftBy | undefined {
    if (!trouble) return undefined
    const now = clock.now()
    if (isOpen(trouble.common, now)) return 'everyone'
    const own = trouble.own.get(nameOf(asker))
    return own && isOpen(own, now) ? 'project' : undefined
  }

  return {
    allows(target_id, asker) {
      const trouble = troubles.get(target_id)
      if (!trouble) return true
      if (leftBy(trouble, asker)) return false
      const { common, own } = trouble
      const now = clock.now()
      const { project_id } = asker.caller
      const half_open = own.get(nameOf(asker))
      if (half_open?.opened_at !== undefined && !hasPassed(half_open.probed_at, now)) return false
      if (common.opened_at !== undefined) {
        if (!mayProbe(common, project_id, now)) return false
        noteProbe(common, project_id, now)
      }
      if (half_open?.opened_at !== undefined) half_open.probed_at = now
      return true
    },

    succeeded(target_id, asker) {
      const trouble = troubles.get(target_id)
      if (!trouble) return
      const { common, own } = trouble
      // What was on its way when a circuit opened, and ends well, says nothing about the next call.
      const its = own.get(nameOf(asker))
      const { project_id } = asker.caller
      if (its && !isOpen(its, clock.now())) {
        own.delete(nameOf(asker))
        own_circuits--
        if (its.opened_at !== undefined) onTurn({ target: target_id, left_by: 'project', project_id, is_open: false })
      }
      if (isOpen(common, clock.now())) return
      if (common.opened_at !== undefined) onTurn({ target: target_id, left_by: 'everyone', project_id, is_open: false })
      close(common)
      if (own.size === 0) troubles.delete(target_id)
    },

    failed(target_id, asker, failure) {
      const trouble = troubleOf(target_id)
      const own = ownOf(trouble, asker)
      const now = clock.now()
      const { project_id } = asker.caller
      if (!isOpen(own, now) && ++own.failures >= FAILURES_MAX) {
        own.opened_at = now
        onTurn({ target: target_id, left_by: 'project', project_id, is_open: true })
      }
      const { common } = trouble
      if (isOpen(common, now) || isOfItsSize(failure)) return
      const was_open = common.opened_at !== undefined
      if (noteFailure(common, project_id, failure === 'connect', now))
        onTurn({ target: target_id, left_by: 'everyone', project_id, is_open: true })
      else if (was_open && common.opened_at === undefined)
        onTurn({ target: target_id, left_by: 'everyone', project_id, is_open: false })
    },

    probed(target_id, is_there) {
      const now = clock.now()
      const turned = (is_open: boolean) => onTurn({ target: target_id, left_by: 'everyone', project_id: '', is_open })
      if (!is_there) {
        if (noteFailedProbe(troubleOf(target_id).common, now)) turned(true)
        return
      }
      const trouble = troubles.get(target_id)
      if (!trouble) return
      if (noteGoodProbe(trouble.common, now)) turned(false)
      if (trouble.own.size === 0 && trouble.common.opened_at === undefined) troubles.delete(target_id)
    },

    leftAlone(target_id, asker) {
      const trouble = troubles.get(target_id)
      const left_by = leftBy(trouble, asker)
      if (!trouble || !left_by) return undefined
      const opened = [trouble.common, trouble.own.get(nameOf(asker))].map((circuit) => circuit?.opened_at ?? -Infinity)
      return { reason: reasonOf(left_by, asker.kind), wait_ms: Math.max(...opened) + OPEN_MS - clock.now() }
    },

    notClosed: (project_id) => [...troubles.values()].flatMap((trouble) => notClosedOf(trouble, project_id)),

    count() {
      const count = { everyone: 0, project: 0 }
      for (const { common, own } of troubles.values()) {
        if (common.opened_at !== undefined) count.everyone++
        for (const one of own.values()) if (one.opened_at !== undefined) count.project++
      }
      return count
    },
  }
}

const reasonOf = (left_by: LeftBy, kind: CallKind) =>
  left_by === 'everyone'
    ? 'it failed repeatedly and is left alone for a while'
    : `it failed repeatedly for this project’s ${kind} calls, and is left alone by them for a while`

function notClosedOf({ id: target, common, own }: Trouble, project_id: string): LeftAlone[] {
  if (common.opened_at !== undefined) return [{ target, left_by: 'everyone', kind: undefined }]
  const its = [...own.values()].filter((one) => one.project_id === project_id && one.opened_at !== undefined)
  return its.map(({ kind }) => ({ target, left_by: 'project', kind }))
}
