// Tags of usage events at rest: one row for each, to filter and group by. A project has so many different ones; further
// values of a name are one (R70). A tag keeps its place for as long as it is used, which is noted once a day.
import { DAY_MS, SECOND_MS } from '../core/clock.ts'
import { type Db, fixed, joined, type Sql, sql, type Tx, together } from '../storage/db.ts'
import type { UsageEvent } from './usage-event.ts'

export const DISTINCT_MAX = 10_000
export const OTHER = '(other)'
const NOTED_EVERY_MS = DAY_MS
const REMEMBERED_MAX = 50_000
const UNSURE_MS = SECOND_MS // no transaction reads what it wrote itself as long ago as that

/**
 * What this process knows to be among a project's tags, by when its use was noted last. After a day that is noted
 * again: so nothing is remembered that was forgotten.
 */
const known = new Map<string, number>()

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

/** When the use of a tag was noted last; undefined where it has no place. */
async function notedOf(db: Db, { project_id, name, value }: Named): Promise<number | undefined> {
  const [row] = await db.rows<{ first_ms: number }>(sql`
    SELECT first_ms FROM project_tag WHERE project_id = ${project_id} AND name = ${name} AND value = ${value}`)
  return row?.first_ms
}

const isPresent = async (db: Db, tag: Named) => (await notedOf(db, tag)) !== undefined

/** A new one takes a place, where there is one. */
async function isKept(db: Db, tag: Named, now: number): Promise<boolean> {
  const remembered = `${tag.project_id} ${tag.name}=${tag.value}`
  const known_ms = known.get(remembered)
  if (known_ms !== undefined && now - known_ms < NOTED_EVERY_MS) return true
  const noted_ms = await notedOf(db, tag)
  if (noted_ms === undefined) return takesPlace(db, tag, now)
  if (now - noted_ms >= NOTED_EVERY_MS) return keepsPlace(db, tag, now)
  if (now - noted_ms >= UNSURE_MS) remember(remembered, noted_ms)
  return true
}

/** What is surely committed. */
function remember(tag: string, noted_ms: number): void {
  if (known.size >= REMEMBERED_MAX) known.clear()
  known.set(tag, noted_ms)
}

/**
 * One of those who use it notes it: of a project one transaction at a time, for two that note several in their own
 * order would wait for each other. The tag may be forgotten at the same moment.
 */
async function keepsPlace(db: Db | Tx, tag: Named, now: number): Promise<boolean> {
  const { project_id, name, value } = tag
  if ('tryLock' in db && !(await db.tryLock(`tags of ${project_id}`))) return true
  const noted = await db.rows(sql`
    UPDATE project_tag SET first_ms = ${now}
    WHERE project_id = ${project_id} AND name = ${name} AND value = ${value} AND first_ms <= ${now - NOTED_EVERY_MS}
    RETURNING name`)
  return noted.length > 0 || (await isPresent(db, tag)) || takesPlace(db, tag, now)
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

/**
 * The tags of an event `e`, whose project and time they have. PostgreSQL finds them by these: trace ids are in another
 * collation here than there, so that the key of this table serves it for no event of another.
 */
const OF_EVENT = 't.project_id = e.project_id AND t.created_ms = e.created_ms AND t.trace_id = e.trace_id'

export function hasTag(tag: string): Sql {
  const at = tag.indexOf('=')
  return joined(
    fixed(` AND EXISTS (SELECT 1 FROM usage_tag t WHERE ${OF_EVENT}`),
    sql` AND t.name = ${tag.slice(0, at)} AND t.value = ${tag.slice(at + 1)})`,
  )
}

/** The value of the tag of an event `e`, as a column. */
export const tagColumn = (name: string): Sql =>
  joined(
    fixed(`, COALESCE((SELECT t.value FROM usage_tag t WHERE ${OF_EVENT}`),
    sql` AND t.name = ${name}), '') AS tag`,
  )

const FORGOTTEN_AT_ONCE = 1_000

/** A project's tags of events that are gone. */
export const tagsBefore = (project_id: string, before_ms: number, limit: number): Sql => sql`
  DELETE FROM usage_tag WHERE (trace_id, name) IN (
    SELECT trace_id, name FROM usage_tag WHERE project_id = ${project_id} AND created_ms < ${before_ms} LIMIT ${limit})
  RETURNING trace_id`

/**
 * Places of tags that were not used since are free again. Their use may be noted a day late; and one that is noted just
 * now stays, which is why the time is asked for of the very rows that go.
 */
export async function forgetTags(db: Db, before_ms: number): Promise<boolean> {
  const noted_ms = before_ms - NOTED_EVERY_MS
  const gone = await db.transaction(async (tx) => {
    const forgotten = await tx.rows<{ project_id: string }>(sql`
      DELETE FROM project_tag WHERE first_ms <= ${noted_ms} AND (project_id, name, value) IN (
        SELECT project_id, name, value FROM project_tag WHERE first_ms <= ${noted_ms} LIMIT ${FORGOTTEN_AT_ONCE})
      RETURNING project_id`)
    const counts = new Map<string, number>()
    for (const { project_id } of forgotten) counts.set(project_id, (counts.get(project_id) ?? 0) + 1)
    for (const [project_id, count] of [...counts].sort(([a], [b]) => (a < b ? -1 : 1)))
      await tx.rows(sql`UPDATE project SET tag_count = tag_count - ${count} WHERE id = ${project_id}`)
    return forgotten.length
  })
  return gone === FORGOTTEN_AT_ONCE
}
