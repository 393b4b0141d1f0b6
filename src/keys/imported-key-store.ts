// Keys that come from another gateway: which of them are here, and what they had spent there.
import { type Db, sql } from '../storage/db.ts'

export function importedKeyStore(db: Db) {
  return {
    /** By id or by secret, in whatever state and project: a revoked key does not come back with the next import. */
    async isPresent(id: string, hash: string): Promise<boolean> {
      const found = await db.rows(sql`
        SELECT id FROM api_key WHERE id = ${id} OR hash = ${hash} OR previous_hash = ${hash} LIMIT 1`)
      return found.length > 0
    },

    /** In the window that runs now. */
    async setWindowSpent(project_id: string, id: string, spent_micros: number): Promise<void> {
      await db.rows(sql`
        UPDATE api_key SET window_spent_micros = ${spent_micros}
        WHERE project_id = ${project_id} AND id = ${id} AND window_period IS NOT NULL`)
    },
  }
}
