// Carries purge jobs out, a batch at a time, for all projects in turn, on one replica at a time: the database that it
// is handed commits nothing once another replica has taken over. A batch, what it erased and how far the job is commit
// together. A receipt is signed only after a second count has found nothing.
import { type Clock, DAY_MS, rfc3339, SECOND_MS } from '../core/clock.ts'
import type { Db, OpenDb } from '../storage/db.ts'
import type { Eraser } from '../storage/erasing.ts'
import { afterBatch, afterCheck, erasingFrom, FAILURES_MAX, type Progress, type StoredPurge } from './purge-job.ts'
import { NOT_COVERED, type PurgeReceipt, type Sign, STORAGE, type Storage, signed } from './purge-receipt.ts'
import { purgeStore, scopeOf } from './purge-store.ts'

const BATCH = 500
const STEPS_MAX = 200 // of one turn; a stop waits for it to end
const SCRUB_RESTS = 20 // for so many times as long as writes have waited for it
const PLANNED_MS = 7 * DAY_MS
const RENEW_EVERY_MS = SECOND_MS

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
  /** Until when the file is not written anew again, whichever job wants it. */
  let rests_until_ms = 0

  const erasersOf = (kinds: readonly string[]) => erasers.filter(({ kind }) => kinds.includes(kind))

  /** Whether it found anything that lies in the store. */
  const hasFound = ({ kinds, progress: { matched, erased, more } }: StoredPurge) =>
    more === true ||
    erasersOf(kinds).some((one) => !one.is_in_memory && (matched[one.kind] ?? 0) + (erased[one.kind] ?? 0) > 0)

  /** All but its end is done, and that has to wait. */
  const mustRest = (found: StoredPurge) =>
    found.progress.phase === 'check' && clock.now() < rests_until_ms && hasFound(found)

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
      await purgeStore(tx).advance(job.project_id, job.id, erasingFrom(0, { ...progress, matched }, found), status)
    })
  }

  async function erase(fenced: Db, found: StoredPurge): Promise<void> {
    const scope = scopeOf(found)
    let eraser: Eraser | undefined
    await write(fenced, found, async (tx, { job, kinds, progress }) => {
      eraser = erasersOf(kinds)[progress.at]
      if (!eraser) throw new Error(`no eraser for '${kinds[progress.at]}'`)
      const { ids, next, more } = await eraser.erase(tx, scope, progress.cursor, BATCH)
      const store = purgeStore(tx)
      await store.noteErased(job.project_id, job.id, eraser.kind, ids)
      const after = afterBatch(progress, found, { erased: ids.length, next, more })
      await store.advance(job.project_id, job.id, after, 'running')
    })
    await eraser?.eraseOutside?.(scope)
  }

  async function check(fenced: Db, found: StoredPurge, through: StoredPurge[]): Promise<void> {
    for (const eraser of erasersOf(found.kinds)) await eraser.eraseOutside?.(scopeOf(found))
    const verdict = afterCheck(found, await counted(found))
    if (verdict.kind === 'done') return void through.push(found)
    await write(fenced, found, async (tx, { job }) => {
      const store = purgeStore(tx)
      if (verdict.kind === 'again') await store.advance(job.project_id, job.id, verdict.progress, 'running')
      else await store.finish(job.project_id, job.id, { status: 'failed', error: verdict.error, now: clock.now() })
    })
  }

  /** Writes wait for it: jobs that are through at once share it, and behind it the store has a rest. */
  async function scrubbed(): Promise<Storage> {
    if (db.engine === 'postgres') return 'after_vacuum'
    const began_ms = clock.now()
    const state = (await db.scrub?.()) ?? 'overwritten'
    rests_until_ms = clock.now() + SCRUB_RESTS * (clock.now() - began_ms)
    return state
  }

  async function conclude(fenced: Db, found: StoredPurge, state: Storage): Promise<void> {
    const { project_id, id } = found.job
    const erased = await purgeStore(db).erasedBy(project_id, id, found.kinds)
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

  const STEPS: Record<Progress['phase'], Step> = { count, erase, check }

  /** False where it failed. After many failures in a row the job is given up, and says why. */
  async function isDone(fenced: Db, found: StoredPurge, step: Promise<void>): Promise<boolean> {
    try {
      await step
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

  /** A step of each, and the end of those that are through. The ids of those that failed. */
  async function round(fenced: Db, waiting: readonly StoredPurge[]): Promise<string[]> {
    const failed: string[] = []
    const through: StoredPurge[] = []
    for (const found of waiting) {
      const step = STEPS[found.progress.phase](fenced, found, through)
      if (!(await isDone(fenced, found, step))) failed.push(found.job.id)
    }
    const state = through.some(hasFound) ? await scrubbed() : 'untouched'
    for (const found of through) {
      const end = conclude(fenced, found, hasFound(found) ? state : 'untouched')
      if (!(await isDone(fenced, found, end))) failed.push(found.job.id)
    }
    return failed
  }

  return {
    /** A look that takes no lease and writes nothing. */
    isDue: () => purgeStore(db).isAnyWaiting(),

    /**
     * One turn: a job of each project gets a step, again and again, until none waits or the turn is long enough. R78:
     * one that fails waits for the next turn, and holds up no other.
     */
    turn: (fenced: Db): Promise<void> =>
      renewing(fenced, async () => {
        const failed = new Set<string>()
        for (let steps = 0, before = -1; before < steps && steps < STEPS_MAX; ) {
          before = steps
          for await (const some of purgeStore(db).waiting()) {
            const waiting = some.filter((found) => !failed.has(found.job.id) && !mustRest(found))
            for (const id of await round(fenced, waiting)) failed.add(id)
            steps += waiting.length
          }
        }
      }),

    /** What ended jobs leave behind. */
    async sweep(fenced: Db): Promise<void> {
      while (await purgeStore(fenced).forget(rfc3339(clock.now() - PLANNED_MS)));
    },
  }
}

/**
 * Keeps the lease while it works: to count, to erase outside the database and to read what a receipt is over commit
 * nothing, and may take longer than a lease lasts. Were it lost each time, no replica would ever come to the end of a
 * large job.
 */
async function renewing(fenced: Db, work: () => Promise<void>): Promise<void> {
  let renewed: Promise<void> | undefined
  const timer = setInterval(() => {
    renewed ??= fenced
      .transaction(async () => {}, { lasting: 'committed' })
      .catch(() => {}) // what keeps it from being renewed, the next batch or end meets as well, and tells
      .finally(() => {
        renewed = undefined
      })
  }, RENEW_EVERY_MS)
  try {
    await work()
  } finally {
    clearInterval(timer)
    await renewed
  }
}

/** Whoever is through is added. */
type Step = (fenced: Db, found: StoredPurge, through: StoredPurge[]) => Promise<void>

interface Erased {
  digest: string
  counts: Readonly<Record<string, number>>
}

const GAVE_UP = 'It failed again and again; the log of the server says why. What was erased stays erased.'
