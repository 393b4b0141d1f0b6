// Artifacts, for purge jobs: the row first, with the bundles that are made of it, then the contents, wherever they lie.
// A job is not through with them before the contents are gone too.
import { type Db, fixed, joined, sql } from '../storage/db.ts'
import { countOf, type Eraser, matching, nextBatch, type PurgeScope } from '../storage/erasing.ts'
import type { KeptArtifacts } from './kept-artifact-store.ts'

/** What others have uploaded as well is theirs too: of one key, only what it alone uploaded. */
const madeByKeyAlone = ({ key_id }: PurgeScope) =>
  key_id === null
    ? fixed('')
    : sql` AND EXISTS (SELECT 1 FROM artifact_maker WHERE artifact_maker.artifact_id = artifact.id)
        AND NOT EXISTS (
          SELECT 1 FROM artifact_maker WHERE artifact_maker.artifact_id = artifact.id
            AND NOT (artifact_maker.made_by = ${key_id} OR COALESCE(artifact_maker.made_under, '') = ${key_id}))`

const where = (scope: PurgeScope) =>
  joined(
    sql` WHERE project_id = ${scope.project_id}`,
    matching.madeAt(scope, 'created_at'),
    madeByKeyAlone(scope),
    matching.named(scope, { artifact: 'id' }),
  )

interface Needs {
  artifacts: Pick<KeptArtifacts, 'takeWithBundles' | 'eraseTaken' | 'taken'>
  /** R70: of one bundle, in the transaction in which it goes. */
  giveBackBundle(tx: Db, project_id: string): Promise<void>
}

export const artifactEraser = ({ artifacts, giveBackBundle }: Needs): Eraser => ({
  kind: 'artifacts',

  async count(db, scope) {
    const rows = await countOf(db, joined(sql`SELECT COUNT(*) AS matched FROM artifact`, where(scope)))
    return rows + (await artifacts.taken(db, scope.project_id))
  },

  async erase(tx, scope, from, most) {
    const walked = { table: 'artifact', order: 'sequence', id: 'id', of_project: scope.project_id, where: where(scope) }
    const batch = await nextBatch(tx, walked, from, most)
    for (const id of batch.ids)
      for (let gone = await artifacts.takeWithBundles(tx, scope.project_id, id); gone > 0; gone--)
        await giveBackBundle(tx, scope.project_id)
    return batch
  },

  eraseOutside: ({ project_id }) => artifacts.eraseTaken(project_id),
})
