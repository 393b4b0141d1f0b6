// Bundles at rest, and what was observed of them: which target was asked with one when, and how much it had cached.
import { nextSequence } from '../core/ids.ts'
import type { Maker } from '../core/maker.ts'
import { BATCH_ROWS, newestFirst, type Place } from '../storage/batches.ts'
import { aside, beginning, type Db, type Sql, sql } from '../storage/db.ts'
import type { Bundle, Role } from './bundle.ts'
import type { Observed } from './warmth.ts'

interface Row extends Omit<Bundle, 'object' | 'items' | 'tools_artifact_id'>, Maker {
  sequence: number
  /** In no order. */
  parts: readonly Part[]
}

interface Part {
  position: number
  role: Role | 'tools'
  artifact_id: string
}

export interface StoredBundle {
  bundle: Bundle
  maker: Maker
}

function fromRow({ parts, made_by, made_under, sequence: _sequence, ...facts }: Row): StoredBundle {
  const all = [...parts].sort(inOrder)
  const items = all.flatMap(({ role, artifact_id }) => (role === 'tools' ? [] : [{ artifact_id, role }]))
  const tools_artifact_id = all.find(({ role }) => role === 'tools')?.artifact_id ?? null
  return { bundle: { ...facts, object: 'bundle', tools_artifact_id, items }, maker: { made_by, made_under } }
}

const inOrder = (a: Part, b: Part) => a.position - b.position

const bundles = beginning(
  'SELECT id, project_id, name, prefix_hash, tokens_est, bytes, created_at, made_by, made_under, sequence FROM bundle',
)

export function bundleStore(db: Db) {
  async function read(project_id: string, statement: Sql): Promise<(StoredBundle & Place)[]> {
    const rows = await db.rows<Omit<Row, 'parts'>>(statement)
    return Promise.all(
      rows.map(async (row) => {
        const parts = await db.rows<Part>(sql`
          SELECT position, role, artifact_id FROM bundle_item
          WHERE project_id = ${project_id} AND bundle_id = ${row.id}`)
        return { ...fromRow({ ...row, parts }), sequence: row.sequence, id: row.id }
      }),
    )
  }

  return {
    async find(project_id: string, id: string): Promise<StoredBundle | undefined> {
      const [found] = await read(project_id, bundles` WHERE project_id = ${project_id} AND id = ${id}`)
      return found
    },

    async findEqual(project_id: string, prefix_hash: string): Promise<StoredBundle | undefined> {
      const [found] = await read(
        project_id,
        bundles` WHERE project_id = ${project_id} AND prefix_hash = ${prefix_hash}`,
      )
      return found
    },

    /** All of them, newest first. */
    async *list(project_id: string): AsyncGenerator<Bundle[]> {
      const batches = newestFirst(({ sequence, id }) =>
        read(
          project_id,
          aside(bundles`
            WHERE project_id = ${project_id} AND (sequence, id) < (${sequence}, ${id})
            ORDER BY sequence DESC, id DESC LIMIT ${BATCH_ROWS}`),
        ),
      )
      for await (const batch of batches) yield batch.map(({ bundle }) => bundle)
    },

    /**
     * False where the project has one that says the same. The artifacts are locked in the order of their ids, so that
     * none is deleted meanwhile; throws where one is gone.
     */
    async insert(bundle: Bundle, { made_by, made_under }: Maker, now: number): Promise<boolean> {
      const { id, project_id, name, prefix_hash, tokens_est, bytes, created_at, items, tools_artifact_id } = bundle
      const parts = [
        ...(tools_artifact_id === null ? [] : [{ role: 'tools', artifact_id: tools_artifact_id }]),
        ...items,
      ]
      for (const artifact_id of [...new Set(parts.map((part) => part.artifact_id))].sort()) {
        const locked = await db.rows(sql`
          UPDATE artifact SET sequence = sequence
          WHERE project_id = ${project_id} AND id = ${artifact_id} RETURNING id`)
        if (locked.length === 0) return false
      }
      const made = await db.rows(sql`
        INSERT INTO bundle (id, project_id, name, prefix_hash, tokens_est, bytes, created_at, made_by, made_under,
                            sequence)
        VALUES (${id}, ${project_id}, ${name}, ${prefix_hash}, ${tokens_est}, ${bytes}, ${created_at}, ${made_by},
                ${made_under}, ${nextSequence(now)})
        ON CONFLICT (project_id, prefix_hash) DO NOTHING RETURNING id`)
      if (made.length === 0) return false
      for (const [position, { role, artifact_id }] of parts.entries())
        await db.rows(sql`
          INSERT INTO bundle_item (project_id, bundle_id, position, role, artifact_id)
          VALUES (${project_id}, ${id}, ${position}, ${role}, ${artifact_id})`)
      return true
    },

    /** In a transaction. */
    async remove(project_id: string, id: string): Promise<boolean> {
      await db.rows(sql`DELETE FROM bundle_item WHERE project_id = ${project_id} AND bundle_id = ${id}`)
      const removed = await db.rows(sql`
        DELETE FROM bundle WHERE project_id = ${project_id} AND id = ${id} RETURNING id`)
      return removed.length === 1
    },

    /** The calls that were made with it, newest first; none of a replay run. */
    observed: (project_id: string, id: string, most: number): Promise<Observed[]> =>
      db.rows<Observed>(sql`
        SELECT created_at, provider, resolved_model, profile, cluster_id, input_tokens, cached_tokens, written_tokens,
               ttft_ms, attempts
        FROM usage_event
        WHERE project_id = ${project_id} AND bundle_id = ${id} AND status = 'completed'
          AND key_id NOT IN (SELECT r.key_id FROM replay_key r WHERE r.project_id = ${project_id})
        ORDER BY created_ms DESC, sequence DESC LIMIT ${most}`),
  }
}
