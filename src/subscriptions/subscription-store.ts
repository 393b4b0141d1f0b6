// Subscriptions at rest. A change to one raises the project's routing epoch in the same transaction, after it: settling
// takes the two rows in that order too, so nobody waits for somebody who waits for them.
import { nextSequence } from '../core/ids.ts'
import { type Db, sql } from '../storage/db.ts'
import { raiseRoutingEpoch, raiseRoutingEpochLast } from '../storage/routing-epoch.ts'
import { type Allowance, coveredTokens, isActive, type Subscription } from './subscription.ts'

type Row = Omit<Subscription, 'object' | 'overage_enabled'> & { overage_enabled: number }

export type SubscriptionStore = ReturnType<typeof subscriptionStore>

export function subscriptionStore(db: Db) {
  async function list(project_id: string): Promise<Subscription[]> {
    const rows = await db.rows<Row>(sql`
      SELECT id, project_id, plan, provider, status, input_discount_pct, allowance_tokens, used_tokens,
             period_start, period_end, overage_enabled, created_at
      FROM subscription WHERE project_id = ${project_id} ORDER BY sequence DESC`)
    return rows.map(fromRow)
  }

  return {
    list,

    async find(project_id: string, id: string): Promise<Subscription | undefined> {
      const [row] = await db.rows<Row>(sql`
        SELECT id, project_id, plan, provider, status, input_discount_pct, allowance_tokens, used_tokens,
               period_start, period_end, overage_enabled, created_at
        FROM subscription WHERE project_id = ${project_id} AND id = ${id}`)
      return row && fromRow(row)
    },

    async insert(s: Subscription, now: number): Promise<void> {
      await db.transaction(async (tx) => {
        await tx.rows(sql`
          INSERT INTO subscription (id, project_id, plan, provider, status, input_discount_pct, allowance_tokens,
                                    used_tokens, period_start, period_end, overage_enabled, created_at, sequence)
          VALUES (${s.id}, ${s.project_id}, ${s.plan}, ${s.provider}, ${s.status}, ${s.input_discount_pct},
                  ${s.allowance_tokens}, ${s.used_tokens}, ${s.period_start}, ${s.period_end},
                  ${s.overage_enabled ? 1 : 0}, ${s.created_at}, ${nextSequence(now)})`)
        await raiseRoutingEpoch(tx, s.project_id)
      })
    },

    /** Those that a call may run under now, newest first. */
    async active(project_id: string, now: number): Promise<Subscription[]> {
      return (await list(project_id)).filter((subscription) => isActive(subscription, now))
    },

    /** At once, and for good. Cancelling again finds it all the same. */
    async cancel(project_id: string, id: string): Promise<Subscription | undefined> {
      return db.transaction(async (tx) => {
        const [row] = await tx.rows<Row>(sql`
          UPDATE subscription SET status = 'canceled' WHERE project_id = ${project_id} AND id = ${id}
          RETURNING id, project_id, plan, provider, status, input_discount_pct, allowance_tokens, used_tokens,
                    period_start, period_end, overage_enabled, created_at`)
        if (row) await raiseRoutingEpoch(tx, project_id)
        return row && fromRow(row)
      })
    },

    /**
     * Counts what a call used and returns how much of it was within the allowance: one statement, so that of calls
     * that settle together no two get the same tokens. What is already used up counts on only with overage. A call
     * that began under a subscription is settled under it, even if that was cancelled or has ended meanwhile.
     */
    async useTokens(project_id: string, id: string, tokens: number): Promise<number> {
      return db.transaction(async (tx) => {
        const [after] = await tx.rows<Allowance>(sql`
          UPDATE subscription SET used_tokens = used_tokens + ${tokens}
          WHERE project_id = ${project_id} AND id = ${id}
            AND (used_tokens < allowance_tokens OR overage_enabled = 1)
          RETURNING used_tokens, allowance_tokens`)
        if (!after) return 0
        const covered = coveredTokens(tokens, after)
        // The call that uses up the allowance ends the discount for the next one, in every process.
        if (covered > 0 && after.used_tokens >= after.allowance_tokens) await raiseRoutingEpochLast(tx, project_id)
        return covered
      })
    },
  }
}

const fromRow = ({ overage_enabled, ...row }: Row): Subscription => ({
  ...row,
  object: 'subscription',
  overage_enabled: overage_enabled === 1,
})
