// R79: usage of all projects, one project after the other: each is a bounded look-up of its own, and others are served
// in between.
import { BATCH_ROWS, newestFirst, type Place } from '../storage/batches.ts'
import { type Db, sql } from '../storage/db.ts'
import type { OperatorUsageQuestion, ProjectUsage } from './operator-usage.ts'
import { usageGroups } from './usage-groups-store.ts'

/** Whoever floods a project's own does not keep the operator from reading of it. */
const OPERATORS_LANE = 'operator'

type Named = Place & { name: string }

export function operatorUsageStore(db: Db) {
  const usage = usageGroups(db, OPERATORS_LANE)

  const projects = ({ project_id }: OperatorUsageQuestion) =>
    project_id === undefined
      ? newestFirst(({ sequence, id }) =>
          db.rows<Named>(sql`
            SELECT id, name, sequence FROM project WHERE (sequence, id) < (${sequence}, ${id})
            ORDER BY sequence DESC, id DESC LIMIT ${BATCH_ROWS}`),
        )
      : [db.rows<Named>(sql`SELECT id, name, sequence FROM project WHERE id = ${project_id}`)]

  return {
    /** Batches are never empty. */
    async *byProject(asked: OperatorUsageQuestion): AsyncGenerator<ProjectUsage[]> {
      let rows: ProjectUsage[] = []
      for await (const batch of projects(asked))
        for (const { id: project_id, name: project_name } of batch)
          for await (const groups of usage.groupedAll(project_id, asked.filter, asked)) {
            rows.push(...groups.map((group) => ({ project_id, project_name, ...group })))
            if (rows.length < BATCH_ROWS) continue
            yield rows
            rows = []
          }
      if (rows.length > 0) yield rows
    },
  }
}
