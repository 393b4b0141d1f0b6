// R78: usage rolled up project by project, where one of them has more waiting than a turn takes, or something that
// cannot be added up. What cannot is found by halves and set aside; all others go on.
import { type Db, joined, sql, type Tx } from '../storage/db.ts'
import { alikeEvents } from './alike-events.ts'
import { listed } from './usage-filter-store.ts'
import { NotSummable } from './usage-rollup.ts'
import { LINES_AT_ONCE, readWaiting, rollBatch } from './usage-rollup-store.ts'

const PROJECTS_MAX = 10_000
const ROLLS_MAX = 20_000 // of a turn, 250 events each; what is left waits for the next one
const COUNTED_MAX = 100_000
const LISTED_MAX = 1_000
const REASON_MAX = 300
const RELEASED_AT_ONCE = 500

export interface SetAside {
  trace_id: string
  project_id: string
  charged_micros: number
  reason: string
  set_aside_ms: number
}

export interface Apart {
  now(): number
  /** Told of each event that was set aside. */
  onSetAside(event: Pick<SetAside, 'trace_id' | 'project_id' | 'reason'>): void
}

type Rolled = 'all' | 'more' | 'busy' | 'bad'

export function rollingApart(db: Db, { now, onSetAside }: Apart) {
  async function rollLines(project_id: string, trace_ids: readonly string[]): Promise<Rolled> {
    try {
      return (await rollSpan(db, project_id, trace_ids)) ? 'all' : 'busy'
    } catch (error) {
      if (!isBadData(error)) throw error
      const [trace_id] = trace_ids
      if (trace_id !== undefined && trace_ids.length === 1) {
        const reason = messageOf(error)
        if (await setAside(db, { trace_id, project_id, reason, now: now() }))
          onSetAside({ trace_id, project_id, reason })
        return 'bad'
      }
    }
    const half = Math.ceil(trace_ids.length / 2)
    const first = await rollLines(project_id, trace_ids.slice(0, half))
    if (first === 'busy') return first
    const second = await rollLines(project_id, trace_ids.slice(half))
    return second === 'all' ? first : second
  }

  /** Some of a project's events, the oldest first. */
  async function rollSome(project_id: string): Promise<Rolled> {
    const lines = await db.rows<{ trace_id: string }>(sql`
      SELECT trace_id FROM usage_unrolled WHERE project_id = ${project_id} ORDER BY trace_id LIMIT ${LINES_AT_ONCE}`)
    if (lines.length === 0) return 'all'
    const names = lines.map(({ trace_id }) => trace_id)
    const rolled = await rollLines(project_id, names)
    return rolled === 'all' && lines.length === LINES_AT_ONCE ? 'more' : rolled
  }

  return {
    /** Some of each project's in turn. One that has something bad, or fails, has had its turn. */
    async rollInTurns(): Promise<void> {
      const failures: unknown[] = []
      const tryOne = (project_id: string): Promise<Rolled> =>
        rollSome(project_id).catch((error) => {
          failures.push(error)
          return 'bad'
        })
      let left = await waitingProjects(db)
      for (let rolls = 0; left.length > 0 && rolls < ROLLS_MAX; rolls += left.length) {
        const more: string[] = []
        for (const project_id of left) {
          const rolled = await tryOne(project_id)
          if (rolled === 'busy') return
          if (rolled === 'more') more.push(project_id)
        }
        left = more
      }
      if (failures.length > 0) throw failures[0]
    },
  }
}

/** Those with events that wait, by one look-up in the index for each. */
async function waitingProjects(db: Db): Promise<string[]> {
  const rows = await db.rows<{ id: string }>(sql`
    WITH RECURSIVE waiting (id) AS (
      SELECT MIN(project_id) FROM usage_unrolled
      UNION ALL
      SELECT (SELECT MIN(u.project_id) FROM usage_unrolled u WHERE u.project_id > waiting.id)
      FROM waiting WHERE waiting.id IS NOT NULL)
    SELECT id FROM waiting WHERE id IS NOT NULL LIMIT ${PROJECTS_MAX}`)
  return rows.map(({ id }) => id)
}

/** All of a project's that wait between the first and the last of these. False where another process is at it. */
async function rollSpan(db: Db, project_id: string, trace_ids: readonly string[]): Promise<boolean> {
  const [first = '', last = ''] = [trace_ids[0], trace_ids.at(-1)]
  const events = alikeEvents()
  for (const row of await readWaiting(db, { project_id, first, last })) events.add(row, row, row.created_ms)
  for (const batch of events.take()) if (!(await rollBatch(db, batch))) return false
  return true
}

/** PostgreSQL's class for values that do not fit, the embedded store's words for a number that does not. */
export const isBadData = (error: unknown): boolean =>
  error instanceof NotSummable ||
  (error as { code?: string }).code?.startsWith('22') === true ||
  /too large to be represented/.test(messageOf(error))

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error)).slice(0, REASON_MAX)

interface Found {
  trace_id: string
  project_id: string
  reason: string
  now: number
}

/** What it was charged is copied where that is a number at all: limits of a window count it. */
async function setAside(db: Db, { trace_id, project_id, reason, now }: Found): Promise<boolean> {
  return db.transaction(async (tx) => {
    const struck = await tx.rows(sql`
      DELETE FROM usage_unrolled WHERE trace_id = ${trace_id} AND project_id = ${project_id} RETURNING trace_id`)
    if (struck.length === 0) return false
    await tx.rows(sql`
      INSERT INTO usage_quarantine (trace_id, project_id, key_id, created_ms, charged_micros, reason, set_aside_ms)
      SELECT trace_id, project_id, key_id, created_ms,
        CASE WHEN charged_micros BETWEEN 0 AND ${Number.MAX_SAFE_INTEGER} THEN charged_micros ELSE 0 END,
        CAST(${reason} AS TEXT), CAST(${now} AS BIGINT)
      FROM usage_event WHERE trace_id = ${trace_id} AND project_id = ${project_id}
      ON CONFLICT (trace_id) DO NOTHING`)
    return true
  })
}

/** For the operator: over all projects, or of one. */
export function usageQuarantine(db: Db) {
  return {
    /** Beyond so many, that many. */
    async count(): Promise<number> {
      const [row] = await db.rows<{ events: number }>(sql`
        SELECT COUNT(*) AS events FROM (SELECT 1 AS one FROM usage_quarantine LIMIT ${COUNTED_MAX}) AS counted`)
      return row?.events ?? 0
    },

    /** The oldest first, so many at most. */
    list: (project_id: string | undefined): Promise<SetAside[]> =>
      db.rows<SetAside>(sql`
        SELECT trace_id, project_id, charged_micros, reason, set_aside_ms FROM usage_quarantine
        WHERE CAST(${project_id ?? null} AS TEXT) IS NULL OR project_id = ${project_id ?? null}
        ORDER BY set_aside_ms, trace_id LIMIT ${LISTED_MAX}`),

    /** Lets them wait again, for the next roll-up to try; those whose event is gone are forgotten. How many. */
    async retry(project_id: string | undefined): Promise<number> {
      let released = 0
      for (let after = ''; ; ) {
        const names = await someAfter(db, project_id, after)
        const last = names.at(-1)
        if (last === undefined) return released
        released += await db.transaction((tx) => release(tx, names))
        after = last
      }
    },
  }
}

async function someAfter(db: Db, project_id: string | undefined, after: string): Promise<string[]> {
  const rows = await db.rows<{ trace_id: string }>(sql`
    SELECT trace_id FROM usage_quarantine
    WHERE trace_id > ${after}
      AND (CAST(${project_id ?? null} AS TEXT) IS NULL OR project_id = ${project_id ?? null})
    ORDER BY trace_id LIMIT ${RELEASED_AT_ONCE}`)
  return rows.map(({ trace_id }) => trace_id)
}

/** Those that are struck off here and no others: what somebody sets aside meanwhile is not ours to forget. */
async function release(tx: Tx, names: readonly string[]): Promise<number> {
  const struck = await tx.rows<{ trace_id: string }>(
    joined(sql`DELETE FROM usage_quarantine WHERE trace_id IN `, listed(names), sql` RETURNING trace_id`),
  )
  if (struck.length === 0) return 0
  const released = await tx.rows(
    joined(
      sql`INSERT INTO usage_unrolled (trace_id, project_id)
        SELECT e.trace_id, e.project_id FROM usage_event e WHERE e.trace_id IN `,
      listed(struck.map(({ trace_id }) => trace_id)),
      sql` ON CONFLICT (trace_id) DO NOTHING RETURNING trace_id`,
    ),
  )
  return released.length
}
