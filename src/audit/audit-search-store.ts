// The audit log by action or actor, which no index knows. An inference key can fill it by making children, so what is
// rare may lie below any number of entries: it is looked for window by window, and no statement reads more than one.
import { joined, type Sql, sql } from '../storage/db.ts'
import { longReads, type Reads } from '../storage/long-reads.ts'
import type { AuditEntry, AuditPlace, AuditQuestion } from './audit.ts'

const WINDOW_ROWS = 2_000

export type Row = Omit<AuditEntry, 'object' | 'target'> & { target: string | null } & AuditPlace
export type Asked = Omit<AuditQuestion, 'after' | 'limit'>

const inOwnLane = longReads('audit log')

/** `hasLeft` is asked before each window. */
export function auditSearch(db: Reads, project_id: string, asked: Asked, hasLeft: () => boolean) {
  const { action, actor, from_ms, to_ms } = asked
  const first = inFrontOf(from_ms)
  const is_search = action !== null || actor !== null
  const { rows } = is_search ? inOwnLane(db, project_id) : db
  const rest = joined(
    action === null ? sql`` : sql` AND action = ${action}`,
    actor === null ? sql`` : sql` AND actor = ${actor}`,
  )

  /** The oldest of so many entries as one statement may look at; undefined where fewer are left. */
  async function endOfWindow(below: AuditPlace): Promise<AuditPlace | undefined> {
    const [place] = await rows<AuditPlace>(
      joined(
        sql`SELECT created_ms, sequence, id FROM audit_entry WHERE project_id = ${project_id}`,
        between(first, below),
        NEWEST_FIRST,
        sql` LIMIT 1 OFFSET ${WINDOW_ROWS - 1}`,
      ),
    )
    return place
  }

  return {
    /** The next that fit, newest first; fewer than so many only at the end of the log, or where nobody waits. */
    async read(after: AuditPlace | undefined, limit: number): Promise<Row[]> {
      const found: Row[] = []
      for (let below = after && after.created_ms < to_ms ? after : inFrontOf(to_ms); !hasLeft(); ) {
        const end = is_search ? await endOfWindow(below) : undefined
        const fitting = await rows<Row>(
          joined(
            sql`
              SELECT id, actor, action, target, request_id, created_at, created_ms, sequence FROM audit_entry
              WHERE project_id = ${project_id}`,
            between(end ?? first, below),
            rest,
            NEWEST_FIRST,
            sql` LIMIT ${limit - found.length}`,
          ),
        )
        found.push(...fitting)
        if (found.length >= limit || !end) return found
        below = end
      }
      return found
    },
  }
}

/** Older than every entry of that moment. */
const inFrontOf = (created_ms: number): AuditPlace => ({ created_ms, sequence: 0, id: '' })

const between = (from: AuditPlace, below: AuditPlace): Sql => sql`
  AND (created_ms, sequence, id) >= (${from.created_ms}, ${from.sequence}, ${from.id})
  AND (created_ms, sequence, id) < (${below.created_ms}, ${below.sequence}, ${below.id})`

const NEWEST_FIRST = sql` ORDER BY created_ms DESC, sequence DESC, id DESC`
