// Stored hints at rest. They never change; every query names the project, so a foreign reference finds nothing (§10.1).
import { nextSequence } from '../core/ids.ts'
import { BATCH_ROWS, mapped, newestFirst, type Place } from '../storage/batches.ts'
import { type Db, sql } from '../storage/db.ts'
import { raiseRoutingEpoch } from '../storage/routing-epoch.ts'
import type { AgentHints } from './hints.ts'

interface Row {
  id: string
  project_id: string
  name: string | null
  hints: string
  created_at: string
}

const fromRow = ({ id, project_id, name, hints, created_at }: Row): AgentHints => ({
  id,
  object: 'agent_hints',
  project_id,
  ...(name !== null && { name }),
  hints: JSON.parse(hints),
  created_at,
})

export function hintsStore(db: Db) {
  return {
    /** The routing epoch stays: an id nobody had before cannot be in anybody's memory. */
    async insert({ id, project_id, name, hints, created_at }: AgentHints, now: number): Promise<void> {
      await db.rows(sql`
        INSERT INTO agent_hints (id, project_id, name, hints, created_at, sequence)
        VALUES (${id}, ${project_id}, ${name ?? null}, ${JSON.stringify(hints)}, ${created_at}, ${nextSequence(now)})`)
    },

    /** All of them, newest first. */
    list: (project_id: string) =>
      mapped(
        newestFirst(({ sequence, id }) =>
          db.rows<Row & Place>(sql`
            SELECT id, project_id, name, hints, created_at, sequence
            FROM agent_hints WHERE project_id = ${project_id} AND (sequence, id) < (${sequence}, ${id})
            ORDER BY sequence DESC, id DESC LIMIT ${BATCH_ROWS}`),
        ),
        fromRow,
      ),

    async find(project_id: string, id: string): Promise<AgentHints | undefined> {
      const [row] = await db.rows<Row>(sql`
        SELECT id, project_id, name, hints, created_at
        FROM agent_hints WHERE project_id = ${project_id} AND id = ${id}`)
      return row && fromRow(row)
    },

    /** Whoever remembers the hints forgets them with the raised epoch. */
    async remove(project_id: string, id: string): Promise<boolean> {
      return db.transaction(async (tx) => {
        const removed = await tx.rows(sql`
          DELETE FROM agent_hints WHERE project_id = ${project_id} AND id = ${id} RETURNING id`)
        if (removed.length === 1) await raiseRoutingEpoch(tx, project_id)
        return removed.length === 1
      })
    },
  }
}

/** R70: how many a project has. */
export const hintsPresent = (project_id: string) => sql`
  SELECT COUNT(*) AS present FROM agent_hints WHERE project_id = ${project_id}`
