// Purge jobs that take longer than the lease under which they are carried out, by two replicas that both want it.
import { expect, onTestFinished, test, vi } from 'vitest'
import { heldClock } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { tamperedDb, textOf } from '../../test/support/tampered-db.ts'
import { SECOND_MS } from '../core/clock.ts'
import {
  type HousekeepingLeases,
  housekeepingLeases,
  leaseLength,
  type SharedTask,
} from '../start/housekeeping-lease.ts'
import type { Db, Tx, Writing } from '../storage/db.ts'
import type { Eraser, PurgeScope } from '../storage/erasing.ts'
import { newPurgeJob } from './purge-job.ts'
import { purgeRun } from './purge-run-store.ts'
import { purgeStore } from './purge-store.ts'

const EVERY_MS = SECOND_MS
const LONG_S = (2 * leaseLength(EVERY_MS)) / SECOND_MS
const TURNS = 6

withDb((db) => {
  test.each(['count', 'erase outside the store', 'digest'])(
    '§8.1 a job that takes longer to %s than a lease lasts comes to its end, and so does the one behind it',
    async (slow_at) => {
      vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
      onTestFinished(() => void vi.useRealTimers())
      const clock = heldClock()
      const replicas = ['a', 'b'].map((name) => housekeepingLeases(db(), `${name} ${slow_at}`, clock))
      const [large, behind] = [await queued('large'), await queued('behind')]
      const written = new Set<Promise<unknown>>()
      let others: HousekeepingLeases[] = []

      async function queued(name: string) {
        const project = { project_id: await projectIn(db()), project_name: name, known_kinds: ['thing'] }
        const asked = { filter: { everything: true }, confirm: name, mode: 'erase' } as const
        const { stored } = newPurgeJob(asked, project, clock.now())
        await purgeStore(db()).insert(stored, clock.now())
        return stored.job
      }

      /** Whatever is renewed meanwhile is, and every second the other replica asks whether it is its turn. */
      async function pass(at: string, job_id: unknown): Promise<void> {
        if (at !== slow_at || job_id !== large.id) return
        for (let second = 0; second < LONG_S; second++) {
          clock.advance(SECOND_MS)
          vi.advanceTimersByTime(SECOND_MS)
          await Promise.allSettled(written)
          for (const other of others) await other.turn({ ...task, run: async () => {} })
        }
      }

      const eraser: Eraser = {
        kind: 'thing',
        count: (_db, { job_id }: PurgeScope) => pass('count', job_id).then(() => 0),
        erase: async () => ({ ids: ['one'], next: null }),
        eraseOutside: ({ job_id }: PurgeScope) => pass('erase outside the store', job_id),
      }
      const reading = tamperedDb(db(), {
        async rows(statement, run) {
          if (textOf(statement).includes('FROM purge_erased')) await pass('digest', statement.values[1])
          return run(statement)
        },
      })
      const failures: unknown[] = []
      const run = purgeRun({
        ...{ db: reading, clock, erasers: [eraser], sign: () => 'signed' },
        onFailure: (error) => void failures.push(error),
      })

      function noted(fenced: Db): Db {
        const transaction = <T>(work: (tx: Tx) => Promise<T>, writing?: Writing) => {
          const writes = fenced.transaction(work, writing)
          written.add(writes)
          return writes
        }
        return { rows: fenced.rows, transaction }
      }

      const task: SharedTask = { name: `purge ${slow_at}`, every_ms: EVERY_MS, run: (on) => run.turn(noted(on)) }
      for (let turn = 0; turn < TURNS; turn++) {
        const replica = replicas[turn % 2] as HousekeepingLeases
        others = replicas.filter((one) => one !== replica)
        await replica.turn(task).catch((error) => void failures.push(error))
      }
      const found = await Promise.all([large, behind].map((job) => purgeStore(db()).find(job.project_id, job.id)))
      expect([found.map((job) => job?.status), failures]).toEqual([['succeeded', 'succeeded'], []])
      expect((await purgeStore(db()).receipt(behind.project_id, behind.id))?.signature).toBeDefined()
    },
  )
})
