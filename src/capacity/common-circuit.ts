// R78: when a target is left alone by everyone. One project's failures do not do that, since they may be its calls':
// it takes five connections in a row that failed, or five failures in a row in which two projects have a part. Pure.
import { SECOND_MS } from '../core/clock.ts'

export const FAILURES_MAX = 5
export const OPEN_MS = 30 * SECOND_MS
/** Of a second project, one failure is chance; two are a sign. */
const FAILURES_OF_EACH = 2
const PROJECTS_NOTED_MAX = 16

export interface CommonCircuit {
  opened_at: number | undefined
  opened_by: 'connections' | 'projects'
  /** In a row: since the last success of anybody. */
  failures: number
  connections: number
  readonly by_project: Map<string, number>
  /** Probes outside of calls that failed, in a row. */
  failed_probes: number
  /** Once it was open for long enough, one call of each project finds out: nobody keeps others from it. */
  readonly probes: Map<string, number>
}

export const closedCircuit = (): CommonCircuit => ({
  opened_at: undefined,
  opened_by: 'connections',
  failures: 0,
  connections: 0,
  by_project: new Map(),
  failed_probes: 0,
  probes: new Map(),
})

export const hasPassed = (at: number | undefined, now: number) => at === undefined || now - at >= OPEN_MS

export const isOpen = ({ opened_at }: { opened_at: number | undefined }, now: number) =>
  opened_at !== undefined && !hasPassed(opened_at, now)

export function close(circuit: CommonCircuit): void {
  circuit.opened_at = undefined
  startAnew(circuit)
}

/** Of a circuit that is not open. True where this failure opened it. */
export function noteFailure(circuit: CommonCircuit, project_id: string, is_connection: boolean, now: number): boolean {
  const { by_project } = circuit
  const is_probe = circuit.opened_at !== undefined
  circuit.failures++
  circuit.connections = is_connection ? circuit.connections + 1 : 0
  if (by_project.has(project_id) || by_project.size < PROJECTS_NOTED_MAX)
    by_project.set(project_id, (by_project.get(project_id) ?? 0) + 1)
  if (is_probe && circuit.opened_by === 'connections' && !is_connection) {
    close(circuit) // there is a connection again
    return false
  }
  const by = is_probe ? provenAnew(circuit) : proven(circuit)
  if (!by) return false
  circuit.opened_at = now
  circuit.opened_by = by
  startAnew(circuit)
  return true
}

/** Of a target that is asked outside of calls whether it is there: once is chance, twice is a sign. */
const FAILED_PROBES = 2

/** True where this opened it. While it is open, no call has to find out. */
export function noteFailedProbe(circuit: CommonCircuit, now: number): boolean {
  const was_open = circuit.opened_at !== undefined
  if (++circuit.failed_probes < FAILED_PROBES && !was_open) return false
  circuit.opened_at = now
  if (!was_open) circuit.opened_by = 'connections'
  startAnew(circuit)
  return !was_open
}

/**
 * It is there. True where that closed it: what was left alone for want of a connection has one. That it answers calls
 * again is for the next of them to find out, and need not wait.
 */
export function noteGoodProbe(circuit: CommonCircuit, now: number): boolean {
  circuit.failed_probes = 0
  circuit.connections = 0
  if (circuit.opened_at === undefined) return false
  if (circuit.opened_by === 'connections') {
    close(circuit)
    return true
  }
  if (isOpen(circuit, now)) circuit.opened_at = now - OPEN_MS
  return false
}

type Proof = CommonCircuit['opened_by'] | undefined

function proven(circuit: CommonCircuit): Proof {
  if (circuit.connections >= FAILURES_MAX) return 'connections'
  return circuit.failures >= FAILURES_MAX && hasTwo(circuit, FAILURES_OF_EACH) ? 'projects' : undefined
}

/** By probes: one connection that failed is enough; of other failures, those of two projects. */
function provenAnew(circuit: CommonCircuit): Proof {
  if (circuit.connections > 0) return 'connections'
  return hasTwo(circuit, 1) ? 'projects' : undefined
}

function hasTwo({ by_project }: CommonCircuit, failures_of_each: number): boolean {
  let projects = 0
  for (const failures of by_project.values()) if (failures >= failures_of_each) projects++
  return projects >= 2
}

function startAnew(circuit: CommonCircuit): void {
  circuit.failures = 0
  circuit.connections = 0
  circuit.by_project.clear()
  circuit.probes.clear()
}

/** A probe that nobody tells the end of must not keep the target out for good. */
export function mayProbe({ probes }: CommonCircuit, project_id: string, now: number): boolean {
  const own = probes.get(project_id)
  if (own !== undefined) return hasPassed(own, now)
  if (probes.size < PROJECTS_NOTED_MAX) return true
  const [first] = probes.values()
  return hasPassed(first, now)
}

/** Those that probed first come first, and make room. */
export function noteProbe({ probes }: CommonCircuit, project_id: string, now: number): void {
  probes.delete(project_id)
  const [first] = probes.keys()
  if (first !== undefined && probes.size >= PROJECTS_NOTED_MAX) probes.delete(first)
  probes.set(project_id, now)
}
