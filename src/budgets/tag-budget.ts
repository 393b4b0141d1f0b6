// R43 for tags: a limit on what calls with a tag may spend, hard like a key's.
import { type Static, Type } from 'typebox'
import { rfc3339 } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import { Refusal } from '../core/refusal.ts'
import { time } from '../core/shapes.ts'
import { usdMicros } from '../core/spending-limit.ts'
import { tagIn, tagText } from '../headers/call-tags.ts'

export const TagBudget = Type.Object(
  {
    id: Type.String({ description: 'Opaque, begins `tbg_`.' }),
    object: Type.Literal('tag_budget'),
    project_id: Type.String(),
    tag: Type.String({ description: '`team=search`.' }),
    limit_micros: Type.Integer(),
    spent_micros: Type.Integer({ description: 'Since the budget was made.' }),
    held_micros: Type.Integer({ description: 'For calls under way.' }),
    created_at: time(),
  },
  { title: 'TagBudget' },
)
export type TagBudget = Static<typeof TagBudget>

const Limit = Type.Number({
  description: 'In USD, by the rules of a key\u2019s limit. 0 blocks every call with the tag.',
})

export const NewTagBudget = Type.Object(
  { tag: Type.String({ maxLength: 256, description: 'A name and a value: `team=search`.' }), limit_usd: Limit },
  { title: 'NewTagBudget' },
)

export const TagLimit = Type.Object({ limit_usd: Limit }, { title: 'TagLimit' })

export const DeletedTagBudget = Type.Object(
  { id: Type.String(), object: Type.Literal('tag_budget.deleted'), deleted: Type.Literal(true) },
  { title: 'DeletedTagBudget' },
)

export function newTagBudget(
  project_id: string,
  { tag, limit_usd }: Static<typeof NewTagBudget>,
  now: number,
): TagBudget {
  return {
    id: newId('tbg'),
    object: 'tag_budget',
    project_id,
    tag: tagText(tagIn('tag', tag)),
    limit_micros: usdMicros('limit_usd', limit_usd),
    spent_micros: 0,
    held_micros: 0,
    created_at: rfc3339(now),
  }
}

export const budgetExists = (tag: string) =>
  new Refusal('invalid_request', `'tag' must have no budget yet; ${tag} has one: change its limit.`)
