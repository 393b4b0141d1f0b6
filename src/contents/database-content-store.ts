// Contents in the database, in parts of their own rows: for replicas that share nothing else.
import { type Db, sql } from '../storage/db.ts'
import type { Contents } from './content.ts'

export function databaseContents(db: Db): Contents {
  return {
    async write(content_id, content) {
      let part = 0
      for (const sealed of content.parts())
        await db.rows(sql`
          INSERT INTO artifact_content (content_id, part, sealed) VALUES (${content_id}, ${part++}, ${sealed})`)
    },

    async *read(content_id) {
      for (let part = 0; ; part++) {
        const [row] = await db.rows<{ sealed: Uint8Array }>(sql`
          SELECT sealed FROM artifact_content WHERE content_id = ${content_id} AND part = ${part}`)
        if (!row) return
        yield row.sealed
      }
    },

    async erase(content_id) {
      await db.rows(sql`DELETE FROM artifact_content WHERE content_id = ${content_id}`)
    },
  }
}
