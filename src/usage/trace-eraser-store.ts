// What usage events tell beyond money, for purge jobs: which session a call belonged to, what it was filed under, what
// its client was told, and what upstreams said, which may quote a prompt. Tokens, prices and who paid stay: sums before
// are sums after.
import { type Db, joined, sql } from '../storage/db.ts'
import { countWalked, type Eraser, isOneOf, matching, nextBatch, type PurgeScope } from '../storage/erasing.ts'
import type { UsageAttempt } from './usage-event.ts'

const where = (scope: PurgeScope) =>
  joined(
    sql` WHERE project_id = ${scope.project_id}
      AND (session_id IS NOT NULL OR trace IS NOT NULL OR tags IS NOT NULL OR attempts LIKE '%"message":%')`,
    matching.madeAtMs(scope, 'created_ms'),
    matching.madeWith(scope, 'key_id'),
    matching.named(scope, { trace: 'trace_id' }),
  )

const walked = (scope: PurgeScope) => ({
  table: 'usage_event',
  order: 'created_ms',
  id: 'trace_id',
  of_project: scope.project_id,
  where: where(scope),
})

export const traceEraser: Eraser = {
  kind: 'traces',

  count: (db, scope) => countWalked(db, walked(scope)),

  async erase(tx, scope, from, most) {
    const batch = await nextBatch(tx, walked(scope), from, most)
    if (batch.ids.length === 0) return batch
    await tx.rows(
      joined(
        sql`UPDATE usage_event SET session_id = NULL, trace = NULL, tags = NULL
          WHERE project_id = ${scope.project_id} AND `,
        isOneOf('trace_id', batch.ids),
      ),
    )
    await tx.rows(
      joined(sql`DELETE FROM usage_tag WHERE project_id = ${scope.project_id} AND `, isOneOf('trace_id', batch.ids)),
    )
    await forgetWords(tx, scope, batch.ids)
    return batch
  },
}

/** Only those that an upstream said something of have to be read. */
async function forgetWords(tx: Db, { project_id }: PurgeScope, ids: readonly string[]): Promise<void> {
  const worded = await tx.rows<{ trace_id: string; attempts: string }>(
    joined(
      sql`SELECT trace_id, attempts FROM usage_event WHERE project_id = ${project_id}
        AND attempts LIKE '%"message":%' AND `,
      isOneOf('trace_id', ids),
    ),
  )
  for (const { trace_id, attempts } of worded) {
    const wordless = (JSON.parse(attempts) as UsageAttempt[]).map(({ message: _message, ...attempt }) => attempt)
    await tx.rows(sql`
      UPDATE usage_event SET attempts = ${JSON.stringify(wordless)}
      WHERE project_id = ${project_id} AND trace_id = ${trace_id}`)
  }
}
