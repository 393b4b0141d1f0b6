// Contents of artifacts lie beside the embedded database. In a backup they lie in it, so that it is one file and whole;
// a store that was restored from it reads them from there.
import { closeSync, existsSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { SEALED_PART_BYTES } from '../contents/content.ts'

type Connection = InstanceType<typeof DatabaseSync>

interface Lying {
  id: string
  project_id: string
  content_id: string
  bytes: number
}

/** `copy` is of one moment, the folder of the present: what was deleted since then is not in the backup. */
export function bringContents(copy: string, folder: string): void {
  const connection = new DatabaseSync(copy)
  try {
    connection.exec('BEGIN')
    const lying = connection.prepare(`SELECT id, project_id, content_id, bytes FROM artifact WHERE place = 'files'`)
    for (const artifact of lying.all() as unknown as Lying[]) {
      const file = join(folder, artifact.content_id)
      if (existsSync(file)) takeIn(connection, artifact, file)
      else leaveOut(connection, artifact)
    }
    connection.exec('COMMIT')
  } finally {
    connection.close()
  }
}

function takeIn(connection: Connection, { id, content_id }: Lying, file: string): void {
  const insert = connection.prepare('INSERT INTO artifact_content (content_id, part, sealed) VALUES (?, ?, ?)')
  const opened = openSync(file, 'r')
  try {
    const part = Buffer.alloc(SEALED_PART_BYTES)
    for (let n = 0; ; n++) {
      const length = readSync(opened, part, 0, SEALED_PART_BYTES, null)
      if (length > 0) insert.run(content_id, n, part.subarray(0, length))
      if (length < SEALED_PART_BYTES) break
    }
  } finally {
    closeSync(opened)
  }
  connection.prepare(`UPDATE artifact SET place = 'database' WHERE id = ?`).run(id)
}

function leaveOut(connection: Connection, { id, project_id, bytes }: Lying): void {
  const giveBack = connection.prepare(
    'UPDATE project_quota SET present = present - ? WHERE project_id = ? AND kind = ?',
  )
  connection.prepare('DELETE FROM artifact_maker WHERE artifact_id = ?').run(id)
  connection.prepare('DELETE FROM artifact WHERE id = ?').run(id)
  giveBack.run(1, project_id, 'artifacts')
  giveBack.run(bytes, project_id, 'artifacts_mib')
}
