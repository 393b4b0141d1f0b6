// R43: in which order charges that are written together take their rows: that of the rows' ids, whatever the order in
// which the calls ended, or two batches of a project on PostgreSQL wait for each other.
import { expect, test } from 'vitest'
import { billOf } from '../../test/support/bills.ts'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { sessionStage } from '../../test/support/session-stage.ts'
import { type Tampering, tamperedDb, textOf } from '../../test/support/tampered-db.ts'
import { budgetStore, type Spender } from '../budgets/budget-store.ts'
import { slices } from '../budgets/slice-store.ts'
import { holder, idempotencyStore } from '../idempotency/idempotency-store.ts'
import { createKey } from '../keys/key.ts'
import { keyStore } from '../keys/key-store.ts'
import type { Db } from '../storage/db.ts'
import { subscribe } from '../subscriptions/subscription.ts'
import { subscriptionStore } from '../subscriptions/subscription-store.ts'
import { usageStore } from '../usage/usage-store.ts'
import type { Bill } from './bill.ts'
import { charges } from './settle.ts'

withDb((db) => {
  const { seals, store: sessions, opened, turnIn } = sessionStage(db)

  async function spenderIn(project_id: string): Promise<Spender> {
    const minted = createKey(project_id, { name: 'k' }, NOON)
    await keyStore(db()).insert(minted, NOON)
    return { project_id, key_id: minted.api_key.id }
  }

  async function subscribed(project_id: string): Promise<string> {
    const asked = { plan: 'p', provider: 'up', input_discount_pct: 50, allowance_tokens: 1_000 }
    const subscription = subscribe(project_id, asked, NOON)
    await subscriptionStore(db()).insert(subscription, NOON)
    return subscription.id
  }

  /** Settles these together. What each was charged, and of which of the rows that `ids` names each statement told. */
  async function settleTogether(bills: readonly Bill[], statements: RegExp, ids: readonly string[]) {
    const taken: string[] = []
    let transactions = 0
    const tampering: Tampering = {
      rows(statement, run) {
        if (statements.test(textOf(statement))) taken.push(...ids.filter((id) => statement.values.includes(id)))
        return run(statement)
      },
      transaction(work, begin) {
        transactions++
        return begin(work)
      },
    }
    const { settle } = charges({
      ...{ db: tamperedDb(db(), tampering), now: () => NOON, seals, slices: slices(db(), 'one') },
      budgetsOn: (on: Db) => budgetStore(on, 'one'),
      ...{ usageOn: usageStore, subscriptionsOn: subscriptionStore },
      idempotencyOn: (on: Db) => idempotencyStore(on, seals, holder('one')),
      onSettled() {},
    })
    const settled = await Promise.all(bills.map(settle))
    return { taken, transactions, charged: settled.map(({ charged_micros }) => charged_micros) }
  }

  const WAYS: [string, <One>(all: readonly One[]) => One[]][] = [
    ['in the order of their ids', (all) => [...all]],
    ['in the opposite order', (all) => [...all].reverse()],
  ]

  test.each(WAYS)('R43 subscriptions, of bills that come %s', async (_way, inTheirOrder) => {
    const spender = await spenderIn(await projectIn(db()))
    const ids = [await subscribed(spender.project_id), await subscribed(spender.project_id)].sort()
    const bills = inTheirOrder(ids).map((id, n) =>
      billOf(spender, 10 + n, { subscription: { id, input_discount_pct: 50 } }),
    )
    const { taken, transactions, charged } = await settleTogether(
      [billOf(spender, 5), ...bills],
      /^UPDATE subscription SET used_tokens/,
      ids,
    )
    expect({ taken, transactions, charged }).toEqual({ taken: ids, transactions: 1, charged: [5, 10, 11] })
  })

  test.each(WAYS)('R43 sessions, of bills that come %s, one with tags', async (_way, inTheirOrder) => {
    const spender = await spenderIn(await projectIn(db()))
    const { project_id } = spender
    const all = [await opened({}, project_id), await opened({}, project_id)].sort((a, b) => (a.id < b.id ? -1 : 1))
    const ids = all.map(({ id }) => id)
    const bills = inTheirOrder(all).map((session, n) => {
      const tags = session.id === ids[0] ? [{ name: 'team', value: 'search' }] : undefined
      return billOf(spender, 10 + n, { turn: turnIn(session, { response_id: `resp_${n}` }), tags })
    })
    const { taken, transactions, charged } = await settleTogether(
      [billOf(spender, 5), ...bills],
      /^UPDATE agent_session SET last_activity_at/,
      ids,
    )
    expect({ taken, transactions, charged }).toEqual({ taken: ids, transactions: 1, charged: [5, 10, 11] })
    for (const id of ids) expect(await sessions().find(project_id, id)).toMatchObject({ turns: 1, input_tokens: 12 })
  })
})
