// /v2/tag-budgets: hard limits on what calls with a tag may spend.
import { Type } from 'typebox'
import type { Clock } from '../core/clock.ts'
import { listOf } from '../core/shapes.ts'
import { usdMicros } from '../core/spending-limit.ts'
import { found, list, type Routes } from '../http/routes.ts'
import { budgetExists, DeletedTagBudget, NewTagBudget, newTagBudget, TagBudget, TagLimit } from './tag-budget.ts'
import { tagBudgetStore, tagBudgetsPresent } from './tag-budget-store.ts'

const Params = Type.Object({ tag_budget_id: Type.String({ description: 'Begins `tbg_`.' }) })
const manage = { scope: 'admin', class: 'read' } as const
const watch = { scope: 'read', class: 'read' } as const
const tags = ['Tag budgets']
const WHAT = 'tag budget'

export const tagBudgetRoutes: Routes<{ clock: Clock }> = async (app, { clock }) => {
  app.post(
    '/v2/tag-budgets',
    {
      config: { ...manage, adds: { kind: 'tag_budgets', present: tagBudgetsPresent } },
      schema: {
        tags,
        summary: 'Limit what calls with a tag may spend',
        description: 'Hard: the most that a call can cost is held before it is made. It counts from now on.',
        body: NewTagBudget,
        response: { 200: TagBudget },
      },
    },
    async ({ caller: { project_id }, body, db }) => {
      const budget = newTagBudget(project_id, body, clock.now())
      if (!(await tagBudgetStore(db).insert(budget, clock.now()))) throw budgetExists(budget.tag)
      return budget
    },
  )

  app.get(
    '/v2/tag-budgets',
    {
      config: watch,
      schema: { tags, summary: 'List tag budgets, newest first', response: { 200: listOf(TagBudget) } },
    },
    async ({ caller: { project_id }, db }) => list(await tagBudgetStore(db).list(project_id)),
  )

  app.get(
    '/v2/tag-budgets/:tag_budget_id',
    { config: watch, schema: { tags, summary: 'Retrieve a tag budget', params: Params, response: { 200: TagBudget } } },
    async ({ caller: { project_id }, params: { tag_budget_id: id }, db }) =>
      found(await tagBudgetStore(db).find(project_id, id), WHAT, id),
  )

  app.patch(
    '/v2/tag-budgets/:tag_budget_id',
    {
      config: manage,
      schema: { tags, summary: 'Change its limit', params: Params, body: TagLimit, response: { 200: TagBudget } },
    },
    async ({ caller: { project_id }, params: { tag_budget_id: id }, body: { limit_usd }, db }) => {
      const limit_micros = usdMicros('limit_usd', limit_usd)
      return found(await tagBudgetStore(db).setLimit(project_id, id, limit_micros), WHAT, id)
    },
  )

  app.delete(
    '/v2/tag-budgets/:tag_budget_id',
    {
      config: manage,
      schema: { tags, summary: 'Delete a tag budget', params: Params, response: { 200: DeletedTagBudget } },
    },
    async ({ caller: { project_id }, params: { tag_budget_id: id }, db }) => {
      found((await tagBudgetStore(db).remove(project_id, id)) || undefined, WHAT, id)
      return { id, object: 'tag_budget.deleted' as const, deleted: true as const }
    },
  )
}
