// R79: how many of a thing one project may have, where the operator said otherwise for it.
import { type Static, Type } from 'typebox'
import { orNull } from '../core/shapes.ts'
import { QUOTA_KINDS, QUOTA_MAX, type QuotaKind, type Quotas } from './quota.ts'

const Most = () => Type.Integer({ minimum: 0, maximum: QUOTA_MAX })
const each = <S>(shape: () => S) =>
  Object.fromEntries(QUOTA_KINDS.map((kind) => [kind, shape()])) as Record<QuotaKind, S>

export const ProjectQuotas = Type.Object(
  {
    object: Type.Literal('project.quotas'),
    project_id: Type.String(),
    ...each(() => orNull(Most())),
    effective: Type.Object(each(Most), {
      description: 'What holds for the project: its own quotas, and where they are null, those of every project.',
    }),
  },
  { title: 'ProjectQuotas' },
)
export type ProjectQuotas = Static<typeof ProjectQuotas>

export const NewProjectQuotas = Type.Object(
  each(() => Type.Optional(orNull(Most()))),
  { title: 'NewProjectQuotas' },
)
export type NewProjectQuotas = Static<typeof NewProjectQuotas>

export type OwnQuotas = Partial<Record<QuotaKind, number>>

export function describeQuotas(project_id: string, own: OwnQuotas, common: Quotas): ProjectQuotas {
  const told = Object.fromEntries(QUOTA_KINDS.map((kind) => [kind, own[kind] ?? null])) as Record<
    QuotaKind,
    number | null
  >
  return { object: 'project.quotas', project_id, ...told, effective: { ...common, ...own } }
}

/** What a body asks to change: null gives a kind back to what every project has. */
export const quotaChanges = (asked: NewProjectQuotas): [QuotaKind, number | null][] =>
  QUOTA_KINDS.flatMap((kind) => {
    const max = asked[kind]
    return max === undefined ? [] : [[kind, max]]
  })
