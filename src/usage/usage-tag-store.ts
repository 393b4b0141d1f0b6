// Tags of usage events at rest: one row for each, to filter and group by. A project has so many different ones; further
// values of a name are one (R70).
import { type Db, fixed, joined, type Sql, sql, together } from '../storage/db.ts'
import type { UsageEvent } from './usage-event.ts'

export const DISTINCT_MAX = 10_000
export const OTHER = '(other)'
const REMEMBERED_MAX = 50_000

/** What this process knows to be among a project's tags. */
const known = new Set<string>()

/** The event's tags as they are stored: in the caller's transaction, and only where it has any. */
export async function storedTags(db: Db, { project_id, tags = {} }: UsageEvent, now: number) {
  const stored: Record<string, string> = {}
  for (const [name, value] of Object.entries(tags))
    stored[name] = (await isKept(db, { project_id, name, value }, now)) ? value : OTHER
  return stored
}

export async function insertTags(db: Db, event: UsageEvent, tags: Record<string, string>, created_ms: number) {
  const { trace_id, project_id } = event
  await together(
    Object.entries(tags).map(([name, value]) =>
      db.rows(sql`
        INSERT INTO usage_tag (trace_id, name, value, project_id, created_ms)
        VALUES (${trace_id}, ${name}, ${value}, ${project_id}, ${created_ms})`),
    ),
  )
}

interface Named {
  project_id: string
  name: string
  value: string
}

async function isPresent(db: Db, { project_id, name, value }: Named): Promise<boolean> {
  const present = await db.rows(sql`
    SELECT 1 AS present FROM project_tag WHERE project_id = ${project_id} AND name = ${name} AND value = ${value}`)
  return present.length > 0
}

/** A new one takes a place, where there is one. */
async function isKept(db: Db, tag: Named, now: number): Promise<boolean> {
  const remembered = `${tag.project_id} ${tag.name}=${tag.value}`
  if (known.has(remembered)) return true
  if (!(await isPresent(db, tag))) return takesPlace(db, tag, now) // remembered once it is known to be committed
  if (known.size >= REMEMBERED_MAX) known.clear()
  known.add(remembered)
  return true
}

/**
 * The project's row first, as whoever charges does. Calls that settle together may all come with the same new one: the
 * first has put it there by then, and the others give their place back.
 */
async function takesPlace(db: Db, tag: Named, now: number): Promise<boolean> {
  const { project_id, name, value } = tag
  const placed = await db.rows(sql`
    UPDATE project SET tag_count = tag_count + 1 WHERE id = ${project_id} AND tag_count < ${DISTINCT_MAX}
    RETURNING id`)
  if (placed.length === 0) return isPresent(db, tag)
  const inserted = await db.rows(sql`
    INSERT INTO project_tag (project_id, name, value, first_ms) VALUES (${project_id}, ${name}, ${value}, ${now})
    ON CONFLICT (project_id, name, value) DO NOTHING RETURNING name`)
  if (inserted.length === 0) await db.rows(sql`UPDATE project SET tag_count = tag_count - 1 WHERE id = ${project_id}`)
  return true
}

/** Of an event `e`. */
export function hasTag(tag: string): Sql {
  const at = tag.indexOf('=')
  return sql` AND EXISTS (
    SELECT 1 FROM usage_tag t WHERE t.trace_id = e.trace_id AND t.name = ${tag.slice(0, at)}
      AND t.value = ${tag.slice(at + 1)})`
}

/** The value of the tag of an event `e`, as a column. */
export const tagColumn = (name: string): Sql =>
  joined(
    sql`, COALESCE((SELECT t.value FROM usage_tag t WHERE t.trace_id = e.trace_id AND t.name = ${name}), '')`,
    fixed(' AS tag'),
  )

const FORGOTTEN_AT_ONCE = 1_000

/** A project's tags of events that are gone. */
export const tagsBefore = (project_id: string, before_ms: number, limit: number): Sql => sql`
  DELETE FROM usage_tag WHERE (trace_id, name) IN (
    SELECT trace_id, name FROM usage_tag WHERE project_id = ${project_id} AND created_ms < ${before_ms} LIMIT ${limit})
  RETURNING trace_id`

/** Places of tags that came long ago are free again; one that is still used takes another. True for more. */
export async function forgetTags(db: Db, before_ms: number): Promise<boolean> {
  const gone = await db.transaction(async (tx) => {
    const forgotten = await tx.rows<{ project_id: string }>(sql`
      DELETE FROM project_tag WHERE (project_id, name, value) IN (
        SELECT project_id, name, value FROM project_tag WHERE first_ms < ${before_ms} LIMIT ${FORGOTTEN_AT_ONCE})
      RETURNING project_id`)
    const counts = new Map<string, number>()
    for (const { project_id } of forgotten) counts.set(project_id, (counts.get(project_id) ?? 0) + 1)
    for (const [project_id, count] of [...counts].sort(([a], [b]) => (a < b ? -1 : 1)))
      await tx.rows(sql`UPDATE project SET tag_count = tag_count - ${count} WHERE id = ${project_id}`)
    return forgotten.length
  })
  return gone === FORGOTTEN_AT_ONCE
}
