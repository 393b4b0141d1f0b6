// What happens to a project is told by its channels: written down here, in the transaction of what caused it, and sent
// afterwards. Whatever commits is told; what does not commit is not.
import { DAY_MS, rfc3339 } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import { type Db, type Sql, sql, type Tx, together } from './db.ts'

export const KEPT_TRYING_MS = DAY_MS
export const WAITING_MAX = 10_000 // of one channel; what comes beyond is dropped
/** Of what is dropped, one in so long is in the log. R78: to count what waits takes the store long. */
const DROPPED_EVERY_MS = 10_000

export interface Happening {
  project_id: string
  type: string
  /** What it happened to: events of one subject arrive in the order in which they happened. */
  subject: string
  /** For people. */
  sentence: string
  data: Readonly<Record<string, unknown>>
}

/**
 * In the caller's transaction, after all other rows but the project's were taken. Where nobody listens, one look. What
 * the caller does until it commits is done with the project's row locked: where it can, it calls `tellLast`.
 */
export async function tell(tx: Db, happening: Happening, now: number): Promise<void> {
  await together((await toldBy(tx, happening, now)).map((statement) => tx.rows(statement)))
}

/** The same at the very end of the transaction: nobody waits for the project's row while this process does anything. */
export async function tellLast(tx: Tx, happening: Happening, now: number): Promise<void> {
  for (const statement of await toldBy(tx, happening, now)) await tx.last(statement)
}

/**
 * The statements that number it and write it down, one behind the other; none where nobody listens. The number is read
 * from the project's row where it is needed, so that they need no answer in between.
 */
async function toldBy(tx: Db, { project_id, type, subject, sentence, data }: Happening, now: number): Promise<Sql[]> {
  const listed = `%,${type},%`
  // No channel has an older one waiting than this.
  const [look] = await tx.rows<{ oldest: number | null }>(sql`
    SELECT MIN(COALESCE((
      SELECT MIN(d.sequence) FROM notification_delivery d WHERE d.channel_id = c.id AND d.status = 'waiting'
    ), p.event_sequence)) AS oldest
    FROM notification_channel c JOIN project p ON p.id = c.project_id
    WHERE c.project_id = ${project_id} AND c.status = 'active' AND (c.events = '*' OR c.events LIKE ${listed})`)
  const oldest = look?.oldest ?? undefined
  if (oldest === undefined) return []
  const id = newId('evt')
  const before = `${JSON.stringify({ type, timestamp: rfc3339(now), id }).slice(0, -1)},"sequence":`
  const after = `,${JSON.stringify({ subject, sentence, data }).slice(1)}`
  return [
    sql`UPDATE project SET event_sequence = event_sequence + 1 WHERE id = ${project_id}`,
    // A channel has no more waiting than there are numbers since its oldest: mostly nothing has to be counted.
    sql`
      INSERT INTO notification_delivery (id, project_id, channel_id, event_id, type, subject, sequence, payload, status,
                                         attempts, due_at, expires_at, created_ms)
      SELECT ${deliveryStem(id)} || substr(c.id, 5, 8), c.project_id, c.id, CAST(${id} AS TEXT), CAST(${type} AS TEXT),
             CAST(${subject} AS TEXT), p.event_sequence,
             CAST(${before} AS TEXT) || CAST(p.event_sequence AS TEXT) || CAST(${after} AS TEXT),
             CASE WHEN p.event_sequence < ${oldest + WAITING_MAX} THEN 'waiting'
             WHEN COALESCE((
               SELECT MIN(d.sequence) FROM notification_delivery d WHERE d.channel_id = c.id AND d.status = 'waiting'
             ), p.event_sequence) > p.event_sequence - ${WAITING_MAX} THEN 'waiting'
             WHEN (SELECT COUNT(*) FROM (
               SELECT 1 FROM notification_delivery d WHERE d.channel_id = c.id AND d.status = 'waiting'
               LIMIT ${WAITING_MAX}) AS waiting) < ${WAITING_MAX} THEN 'waiting' ELSE 'dropped' END,
             0, CAST(${now} AS BIGINT), CAST(${now + KEPT_TRYING_MS} AS BIGINT), CAST(${now} AS BIGINT)
      FROM notification_channel c JOIN project p ON p.id = c.project_id
      WHERE c.project_id = ${project_id} AND c.status = 'active' AND (c.events = '*' OR c.events LIKE ${listed})
        AND NOT EXISTS (
          SELECT 1 FROM (
            SELECT d.status, d.created_ms FROM notification_delivery d WHERE d.channel_id = c.id
            ORDER BY d.sequence DESC, d.id DESC LIMIT 1) AS newest
          WHERE newest.status = 'dropped' AND newest.created_ms > ${now - DROPPED_EVERY_MS})`,
  ]
}

/** One event has a delivery for each of the project's channels: its own letters, then the channel's. */
export const deliveryStem = (event_id: string) => `dlv_${event_id.slice('evt_'.length)}`

export interface Mark {
  mark: string
  state: string
}

/** Of something that lasts: told once, whoever notices it, until it has turned into something else. */
export async function tellOnce(tx: Tx, { mark, state }: Mark, happening: Happening, now: number) {
  const turned = await tx.rows(sql`
    INSERT INTO notification_mark (project_id, mark, state, at_ms)
    VALUES (${happening.project_id}, ${mark}, ${state}, ${now})
    ON CONFLICT (project_id, mark) DO UPDATE SET state = excluded.state, at_ms = excluded.at_ms
      WHERE notification_mark.state <> excluded.state
    RETURNING mark`)
  if (turned.length > 0) await tellLast(tx, happening, now)
}

/** That it is over: told where it was told that it had begun. */
export async function tellOver(tx: Tx, mark: string, happening: Happening, now: number) {
  const ended = await tx.rows(sql`
    DELETE FROM notification_mark WHERE project_id = ${happening.project_id} AND mark = ${mark} RETURNING mark`)
  if (ended.length > 0) await tellLast(tx, happening, now)
}
