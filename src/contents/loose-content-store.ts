// Contents that no row has: being written, or to be erased. Each is written down before anything is done with it, so
// whatever a crash leaves behind is known, and erased by the sweep, wherever it lies.
import type { Clock } from '../core/clock.ts'
import { MINUTE_MS } from '../core/clock.ts'
import { Refusal } from '../core/refusal.ts'
import { type Db, sql } from '../storage/db.ts'
import type { Content, ContentPlaces, Contents, Keeper } from './content.ts'

/** Longer than any write takes: whoever has not finished by then is taken for dead, and fenced out. */
const WRITTEN_WITHIN_MS = 10 * MINUTE_MS
export const AT_ONCE = 100

export function looseContents(places: ContentPlaces, clock: Clock) {
  /** What an adapter is needed for that the settings do not name any more. */
  function at(place: Content['place']): Contents {
    const contents = places.at[place]
    if (contents) return contents
    throw new Refusal('unavailable', 'These contents cannot be reached with the present settings.', {
      cause: new Error(`contents lie in '${place}', which the settings do not name`),
    })
  }

  /** Whatever there is of it. Where that fails, the sweep comes back to it. */
  async function erase(db: Db, { content_id, place }: Content): Promise<void> {
    await at(place).erase(content_id)
    await db.rows(sql`
      DELETE FROM artifact_loose_content WHERE content_id = ${content_id} AND state = 'erasing'`)
  }

  return {
    at,

    async begin(db: Db, kept_for: Keeper, { content_id, place }: Content): Promise<void> {
      await db.rows(sql`
        INSERT INTO artifact_loose_content (content_id, place, state, since_ms, kept_for)
        VALUES (${content_id}, ${place}, 'writing', ${clock.now()}, ${kept_for})`)
    },

    async settle(db: Db, { content_id }: Content): Promise<boolean> {
      const settled = await db.rows(sql`
        DELETE FROM artifact_loose_content WHERE content_id = ${content_id} AND state = 'writing' RETURNING content_id`)
      return settled.length === 1
    },

    async letGo(db: Db, { project_id, kept_for }: Owner, { content_id, place }: Content): Promise<void> {
      await db.rows(sql`
        INSERT INTO artifact_loose_content (content_id, place, state, since_ms, project_id, kept_for)
        VALUES (${content_id}, ${place}, 'erasing', ${clock.now()}, ${project_id}, ${kept_for})
        ON CONFLICT (content_id) DO UPDATE SET state = 'erasing', project_id = excluded.project_id`)
    },

    /** Some of a project's that are due, whatever their time. */
    dueOf: (db: Db, { project_id, kept_for }: Owner): Promise<Content[]> =>
      db.rows<Content>(sql`
        SELECT content_id, place FROM artifact_loose_content
        WHERE project_id = ${project_id} AND kept_for = ${kept_for} AND state = 'erasing' LIMIT ${AT_ONCE}`),

    async countDue(db: Db, { project_id, kept_for }: Owner): Promise<number> {
      const [row] = await db.rows<{ due: number }>(sql`
        SELECT COUNT(*) AS due FROM artifact_loose_content
        WHERE project_id = ${project_id} AND kept_for = ${kept_for} AND state = 'erasing'`)
      return Number(row?.due ?? 0)
    },

    erase,

    /** For a server that starts alone: whoever was writing is no more. */
    async nobodyWrites(db: Db): Promise<void> {
      await db.rows(sql`UPDATE artifact_loose_content SET state = 'erasing' WHERE state = 'writing'`)
    },

    /** True where there may be more. */
    async sweep(db: Db): Promise<boolean> {
      const now = clock.now()
      const claimed = await db.rows<Content>(sql`
        UPDATE artifact_loose_content SET state = 'erasing', since_ms = ${now}
        WHERE content_id IN (
          SELECT content_id FROM artifact_loose_content
          WHERE (state = 'erasing' AND since_ms < ${now}) OR since_ms < ${now - WRITTEN_WITHIN_MS}
          ORDER BY since_ms LIMIT ${AT_ONCE})
        RETURNING content_id, place`)
      await allErased(claimed.map((content) => erase(db, content)))
      return claimed.length === AT_ONCE
    },
  }
}

interface Owner {
  project_id: string
  kept_for: Keeper
}

/** What cannot be reached holds up nothing else; then it is told. */
export async function allErased(erasing: readonly Promise<void>[]): Promise<void> {
  const outcomes = await Promise.allSettled(erasing)
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
}
