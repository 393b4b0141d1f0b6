// Carries purge jobs out, a batch at a time, for all projects in turn, on one replica at a time: the database that it
// is handed commits nothing once another replica has taken over. A batch, what it erased and how far the job is commit
// together. A receipt is signed only after a second count has found nothing.
import { type Clock, DAY_MS, rfc3339 } from '../core/clock.ts'
import type { Db, OpenDb } from '../storage/db.ts'
import type { Eraser } from '../storage/erasing.ts'
import { afterBatch, afterCheck, FAILURES_MAX, type Progress, type StoredPurge } from './purge-job.ts'
import { NOT_COVERED, type PurgeReceipt, type Sign, STORAGE, type Storage, signed } from './purge-receipt.ts'
import { purgeStore, scopeOf } from './purge-store.ts'

const BATCH = 500
const STEPS_MAX = 200 // of one turn; a stop waits for it to end
const PLANNED_MS = 7 * DAY_MS

export interface RunNeeds {
  /** For counting, which may take long: it is read aside. */
  db: Pick<OpenDb, 'rows' | 'transaction' | 'engine' | 'scrub'>
  clock: Clock
  /** In the order in which kinds are erased. */
  erasers: readonly Eraser[]
  sign: Sign
  onFailure(error: unknown, job_id: string): void
}

export function purgeRun({ db, clock, erasers, sign, onFailure }: RunNeeds) {
  const erasersOf = (kinds: readonly string[]) => erasers.filter(({ kind }) => kinds.includes(kind))

  async function counted(found: StoredPurge): Promise<Record<string, number>> {
    const counts: Record<string, number> = {}
    for (const eraser of erasersOf(found.kinds)) counts[eraser.kind] = await eraser.count(db, scopeOf(found))
    return counts
  }

  /** `fenced` is where it writes. Whether the job is still wanted is asked in the same transaction. */
  async function write(fenced: Db, found: StoredPurge, work: (tx: Db, now: StoredPurge) => Promise<void>) {
    const { project_id, id } = found.job
    await fenced.transaction(async (tx) => {
      const present = await purgeStore(tx).alive(project_id, id)
      if (present) await work(tx, present)
    })
  }

  async function count(fenced: Db, found: StoredPurge): Promise<void> {
    const matched = await counted(found)
    await write(fenced, found, async (tx, { job, progress }) => {
      const status = job.status === 'planned' ? 'planned' : 'running'
      await purgeStore(tx).advance(job.project_id, job.id, { ...progress, phase: 'erase', matched }, status)
    })
  }

  async function erase(fenced: Db, found: StoredPurge): Promise<void> {
    const scope = scopeOf(found)
    let eraser: Eraser | undefined
    await write(fenced, found, async (tx, { job, kinds, progress }) => {
      eraser = erasersOf(kinds)[progress.at]
      if (!eraser) throw new Error(`no eraser for '${kinds[progress.at]}'`)
      const { ids, next } = await eraser.erase(tx, scope, progress.cursor, BATCH)
      const store = purgeStore(tx)
      await store.noteErased(job.project_id, job.id, eraser.kind, ids)
      await store.advance(job.project_id, job.id, afterBatch(progress, kinds, { erased: ids.length, next }), 'running')
    })
    await eraser?.eraseOutside?.(scope)
  }

  async function check(fenced: Db, found: StoredPurge): Promise<void> {
    for (const eraser of erasersOf(found.kinds)) await eraser.eraseOutside?.(scopeOf(found))
    const verdict = afterCheck(found.progress, await counted(found))
    if (verdict.kind === 'done') return conclude(fenced, found)
    await write(fenced, found, async (tx, { job }) => {
      const store = purgeStore(tx)
      if (verdict.kind === 'again') await store.advance(job.project_id, job.id, verdict.progress, 'running')
      else await store.finish(job.project_id, job.id, { status: 'failed', error: verdict.error, now: clock.now() })
    })
  }

  async function conclude(fenced: Db, found: StoredPurge): Promise<void> {
    const { project_id, id } = found.job
    const erased = await purgeStore(db).erasedBy(project_id, id, found.kinds)
    const state: Storage = db.engine === 'postgres' ? 'after_vacuum' : ((await db.scrub?.()) ?? 'overwritten')
    await write(fenced, found, async (tx, { job }) => {
      const receipt = receiptOf(found, erased, { engine: db.engine, state })
      await purgeStore(tx).finish(job.project_id, job.id, { status: 'succeeded', receipt, now: clock.now() })
    })
  }

  function receiptOf({ job, kinds }: StoredPurge, erased: Erased, at: { engine: OpenDb['engine']; state: Storage }) {
    const receipt: Omit<PurgeReceipt, 'signature'> = {
      object: 'purge_receipt',
      purge_job_id: job.id,
      project_id: job.project_id,
      filter: job.filter,
      as_of: job.as_of,
      issued_at: rfc3339(clock.now()),
      erased: kinds.map((kind) => ({ kind, count: erased.counts[kind] ?? 0 })),
      digest: erased.digest,
      storage: { ...at, meaning: STORAGE[at.state] },
      not_covered: [...NOT_COVERED],
    }
    return signed(receipt, sign)
  }

  const STEPS: Record<Progress['phase'], (fenced: Db, found: StoredPurge) => Promise<void>> = { count, erase, check }

  /** False where it failed. After many failures in a row the job is given up, and says why. */
  async function isStepDone(fenced: Db, found: StoredPurge): Promise<boolean> {
    try {
      await STEPS[found.progress.phase](fenced, found)
      return true
    } catch (error) {
      await write(fenced, found, async (tx, { job, progress }) => {
        const failures = progress.failures + 1
        const store = purgeStore(tx)
        if (failures < FAILURES_MAX) await store.advance(job.project_id, job.id, { ...progress, failures }, job.status)
        else await store.finish(job.project_id, job.id, { status: 'failed', error: GAVE_UP, now: clock.now() })
      })
      onFailure(error, found.job.id) // not where the job is another replica's by now: writing that down failed then
      return false
    }
  }

  return {
    /** A look that takes no lease and writes nothing. */
    isDue: async () => (await purgeStore(db).waiting()).length > 0,

    /**
     * One turn: every job that waits gets a step, again and again, until none waits or the turn is long enough. R78:
     * one that fails waits for the next turn, and holds up no other.
     */
    async turn(fenced: Db): Promise<void> {
      const failed = new Set<string>()
      for (let steps = 0; steps < STEPS_MAX; ) {
        const waiting = (await purgeStore(db).waiting()).filter(({ job }) => !failed.has(job.id))
        if (waiting.length === 0) return
        for (const found of waiting) if (!(await isStepDone(fenced, found))) failed.add(found.job.id)
        steps += waiting.length
      }
    },

    /** What ended jobs leave behind. */
    async sweep(fenced: Db): Promise<void> {
      while (await purgeStore(fenced).forget(rfc3339(clock.now() - PLANNED_MS)));
    },
  }
}

interface Erased {
  digest: string
  counts: Readonly<Record<string, number>>
}

const GAVE_UP = 'It failed again and again; the log of the server says why. What was erased stays erased.'
