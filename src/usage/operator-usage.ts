// R79: usage over all projects, as whoever runs the service asks for it.
import { type Static, Type } from 'typebox'
import { storable } from '../core/shapes.ts'
import { type Group, type UsageFilter, UsageGroup, UsageQuery, usageQuestion } from './usage-query.ts'

const { limit: _limit, after: _after, before: _before, ...shared } = UsageQuery.properties

export const OperatorUsageQuery = Type.Object({
  project_id: Type.Optional(Type.String({ description: 'Only this project.' })),
  ...shared,
})

export const ProjectUsage = Type.Object(
  { project_id: Type.String(), project_name: Type.String(), ...UsageGroup.properties },
  { title: 'ProjectUsage' },
)
export type ProjectUsage = Static<typeof ProjectUsage>

export interface OperatorUsageQuestion {
  /** Undefined: all of them. */
  project_id: string | undefined
  filter: UsageFilter
  group_by: readonly Group[]
  group_tag: string | undefined
}

export function operatorUsageQuestion({ project_id, ...query }: Static<typeof OperatorUsageQuery>) {
  const { filter, group_by, group_tag } = usageQuestion(query)
  const only = project_id === undefined ? undefined : storable('project_id', project_id)
  return { project_id: only, filter, group_by, group_tag } satisfies OperatorUsageQuestion
}
