// Usage without a request: rolled up every few seconds, months made ahead of time, old events let go of.
import type { FastifyBaseLogger } from 'fastify'
import { type Clock, HOUR_MS, MINUTE_MS, SECOND_MS } from '../core/clock.ts'
import type { OpenDb } from '../storage/db.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { AlikeEvents } from '../usage/alike-events.ts'
import { usageArchive } from '../usage/usage-archive-store.ts'
import { isBadData, rollingApart, type SetAside, usageQuarantine } from '../usage/usage-quarantine-store.ts'
import { usageRollups } from '../usage/usage-rollup-store.ts'
import type { Task } from './housekeeping-lease.ts'

const ROLL_MS = 5 * SECOND_MS
const ROLLED_AT_ONCE = 5_000
const STEPS_MAX = 1_000 // of a turn; what is left waits for the next one

const ignore = () => {}

export interface UsageNeeds {
  db: OpenDb
  clock: Clock
  /** What this process has inserted since the last roll-up, where it is the only one that inserts. */
  written?: AlikeEvents | undefined
  /** How long events are kept; without it, for ever. */
  retention_days?: number | undefined
  /** Told after each turn how many events wait to be rolled up. */
  onWaiting?: (events: number) => void
  /** R78: told of each event that cannot be added up, and after each turn how many there are. */
  onSetAside?: (event: Pick<SetAside, 'trace_id' | 'project_id' | 'reason'>) => void
  onQuarantine?: (events: number) => void
}

/** Where an operator sees what becomes of usage. */
export const showing = (metrics: Metrics, logger: FastifyBaseLogger) => ({
  onWaiting: (events: number) => metrics.usageWaiting.set(events),
  onQuarantine: (events: number) => metrics.usageQuarantined.set(events),
  onSetAside: (event: Pick<SetAside, 'trace_id' | 'project_id' | 'reason'>) =>
    logger.error(event, 'a usage event cannot be added up and is set aside'),
})

export function usageTasks(needs: UsageNeeds): Task[] {
  const { db, clock, written, retention_days, onWaiting = ignore, onSetAside = ignore, onQuarantine = ignore } = needs
  const archive = usageArchive(db)
  const rollups = usageRollups(db, written)
  const apart = rollingApart(db, { now: clock.now, onSetAside })
  const quarantine = usageQuarantine(db)

  /** What is left is told even by a turn that fails: that is when it matters. */
  async function rollUp(): Promise<void> {
    try {
      await rollSteps()
    } finally {
      onWaiting(await rollups.waiting())
      onQuarantine(await quarantine.count())
    }
  }

  async function rollSteps(): Promise<void> {
    if (!(await isRolledTogether())) await apart.rollInTurns()
  }

  /** All projects' at once, which is the least work. False where that is too much, or something cannot be summed. */
  async function isRolledTogether(): Promise<boolean> {
    try {
      if (await rollups.rollWritten()) return true
      const rolled = await rollups.roll(ROLLED_AT_ONCE)
      return rolled === 'busy' || rolled < ROLLED_AT_ONCE
    } catch (error) {
      if (isBadData(error)) return false
      throw error
    }
  }

  async function expire(days: number): Promise<void> {
    for (let step = 0; step < STEPS_MAX && (await archive.expire(days, clock.now())); step++);
  }

  return [
    { name: 'roll up usage', every_ms: ROLL_MS, run: rollUp },
    { name: 'make months for usage', every_ms: HOUR_MS, run: async () => void (await archive.makeMonths(clock.now())) },
    ...(retention_days === undefined
      ? []
      : [{ name: 'let old usage go', every_ms: 10 * MINUTE_MS, run: () => expire(retention_days) }]),
  ]
}
