// Subscriptions at rest, on whichever engine this run is for.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { epochsRaised, projectIn } from '../../test/support/projects.ts'
import { HOUR_MS, rfc3339 } from '../core/clock.ts'
import { type NewSubscription, subscribe } from './subscription.ts'
import { subscriptionStore } from './subscription-store.ts'

const PRO = { plan: 'pro', provider: 'openai', input_discount_pct: 20, allowance_tokens: 1_000 }

withDb((db) => {
  const store = () => subscriptionStore(db())

  async function subscribed(project_id: string, more: Partial<NewSubscription> = {}) {
    const made = subscribe(project_id, { ...PRO, ...more }, NOON)
    await store().insert(made, NOON)
    return made
  }

  test('§10.2 a subscription comes back as it went in, overage a boolean', async () => {
    const project_id = await projectIn(db())
    for (const overage_enabled of [true, false]) {
      const made = await subscribed(project_id, { overage_enabled })
      expect(await store().find(project_id, made.id)).toEqual(made)
    }
    expect((await store().list(project_id)).map((one) => one.overage_enabled)).toEqual([false, true])
  })

  test('R40 active: those whose period holds now and that were not cancelled', async () => {
    const project_id = await projectIn(db())
    const now = await subscribed(project_id)
    await subscribed(project_id, { period_start: rfc3339(NOON + HOUR_MS) })
    const gone = await subscribed(project_id)
    await store().cancel(project_id, gone.id)
    expect(await store().active(project_id, NOON)).toEqual([now])
    expect(await store().active(project_id, NOON + HOUR_MS)).toHaveLength(2)
  })

  test('§10.2 of fifty calls that settle at once, together as many tokens are covered as the allowance has', async () => {
    const { project_id, id } = await subscribed(await projectIn(db()))
    const covered = await Promise.all(Array.from({ length: 50 }, () => store().useTokens(project_id, id, 30)))
    expect(covered.reduce((sum, one) => sum + one, 0)).toBe(1_000)
    expect(covered.filter((one) => one > 0 && one < 30)).toEqual([10])
    // The call that passed the allowance counts in full, those after it not at all.
    expect((await store().find(project_id, id))?.used_tokens).toBe(1_020)
  })

  test('§7 with overage, what goes beyond the allowance is counted and not covered', async () => {
    const { project_id, id } = await subscribed(await projectIn(db()), { overage_enabled: true })
    const covered = [600, 600, 600].map((tokens) => () => store().useTokens(project_id, id, tokens))
    const results: number[] = []
    for (const use of covered) results.push(await use())
    expect(results).toEqual([600, 400, 0])
    expect((await store().find(project_id, id))?.used_tokens).toBe(1_800)
  })

  test('§10.2 a call that began under a subscription settles under it, although it was cancelled meanwhile', async () => {
    const { project_id, id } = await subscribed(await projectIn(db()))
    await store().cancel(project_id, id)
    expect(await store().useTokens(project_id, id, 10)).toBe(10)
  })

  test('R43 what is used is undone with the settling that it was part of', async () => {
    const { project_id, id } = await subscribed(await projectIn(db()))
    const settling = db().transaction(async (tx) => {
      await subscriptionStore(tx).useTokens(project_id, id, 1_000)
      throw new Error('the rest failed')
    })
    await expect(settling).rejects.toThrow('the rest failed')
    expect((await store().find(project_id, id))?.used_tokens).toBe(0)
  })

  test('§5.8 another project has no such subscription', async () => {
    const { id, project_id } = await subscribed(await projectIn(db()))
    const stranger = await projectIn(db())
    expect(await store().find(stranger, id)).toBeUndefined()
    expect(await store().cancel(stranger, id)).toBeUndefined()
    expect(await store().useTokens(stranger, id, 5)).toBe(0)
    expect(await store().list(stranger)).toEqual([])
    expect(await store().find(project_id, id)).toMatchObject({ status: 'active', used_tokens: 0 })
  })

  test('R40 the routing epoch is raised by a change, and by the call that uses up the allowance', async () => {
    const project_id = await projectIn(db())
    const raised = (work: () => Promise<unknown>) => epochsRaised(db(), project_id, work)
    expect(await raised(() => subscribed(project_id, { overage_enabled: true }))).toBe(1)
    const [made] = await store().list(project_id)
    const use = (tokens: number) => raised(() => store().useTokens(project_id, made!.id, tokens))
    expect([await use(999), await use(1), await use(1)]).toEqual([0, 1, 0])
    expect(await raised(() => store().cancel(project_id, made!.id))).toBe(1)
    expect(await raised(() => store().cancel(project_id, 'sub_unknown'))).toBe(0)
  })
})
