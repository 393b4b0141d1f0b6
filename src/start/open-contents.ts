// Where large contents lie: in object storage where the settings name one, beside the embedded database, or in
// the database that replicas share. What was written before under other settings is read from where it is.
import { join } from 'node:path'
import { maySee } from '../artifacts/artifact-routes.ts'
import type { KeptArtifacts } from '../artifacts/kept-artifact-store.ts'
import type { Artifacts } from '../bundles/bundle-routes.ts'
import type { ContentPlaces } from '../contents/content.ts'
import { databaseContents } from '../contents/database-content-store.ts'
import { fileContents } from '../contents/file-content-store.ts'
import { s3Contents } from '../contents/s3-content-store.ts'
import type { S3Settings } from '../contents/s3-settings.ts'
import { madeByAnother } from '../core/maker.ts'
import type { MemoryRoom } from '../core/memory-room.ts'
import type { OpenDb } from '../storage/db.ts'

export const contentFolder = (data_dir: string) => join(data_dir, 'artifacts')

export function openContents(db: OpenDb, data_dir: string, s3: S3Settings | undefined): ContentPlaces {
  const embedded = db.engine === 'sqlite'
  return {
    place: s3 ? 's3' : embedded ? 'files' : 'database',
    at: {
      database: databaseContents(db),
      ...(embedded && { files: fileContents(contentFolder(data_dir)) }),
      ...(s3 && { s3: s3Contents(s3) }),
    },
  }
}

/** For a service that was given no folder. */
export const inDatabase = (db: OpenDb): ContentPlaces => ({ place: 'database', at: { database: databaseContents(db) } })

/** R74: whoever may not see an artifact may not make a bundle of it. */
export const openable = (artifacts: KeptArtifacts, room: MemoryRoom): Artifacts => ({
  room,
  async open(db, caller, id) {
    const stored = await artifacts.find(db, caller.project_id, id)
    if (stored && !(await maySee(db, caller, id))) throw madeByAnother(`The artifact '${id}'`)
    return stored && { artifact: stored.artifact, read: () => artifacts.bytesOf(stored) }
  },
})
