// Large contents lie beside the embedded database. In a backup they lie in it, so that it is one file and whole; a
// store that was restored from it reads them from there.
import { closeSync, existsSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { SEALED_PART_BYTES } from '../contents/content.ts'

type Connection = InstanceType<typeof DatabaseSync>

/** A row that has contents. */
interface Lying {
  id: string
  project_id: string
  content_id: string
  bytes: number
}

interface Keeper {
  table: 'artifact' | 'recording_pack'
  bytes: string
  /** What goes with one whose contents are no more: it is not in the backup. */
  leaveOut(connection: Connection, lying: Lying): void
}

const KEEPERS: readonly Keeper[] = [
  { table: 'artifact', bytes: 'bytes', leaveOut: leaveOutArtifact },
  { table: 'recording_pack', bytes: 'packed_bytes', leaveOut: leaveOutPack },
]

/** `copy` is of one moment, the folder of the present: what was deleted since then is not in the backup. */
export function bringContents(copy: string, folder: string): void {
  const connection = new DatabaseSync(copy)
  try {
    connection.exec('BEGIN')
    for (const keeper of KEEPERS) bringOf(keeper, connection, folder)
    connection.exec('COMMIT')
  } finally {
    connection.close()
  }
}

function bringOf({ table, bytes, leaveOut }: Keeper, connection: Connection, folder: string): void {
  const lying = connection.prepare(
    `SELECT id, project_id, content_id, ${bytes} AS bytes FROM ${table} WHERE place = 'files'`,
  )
  for (const one of lying.all() as unknown as Lying[]) {
    const file = join(folder, one.content_id)
    if (!existsSync(file)) leaveOut(connection, one)
    else {
      takeIn(connection, one, file)
      connection.prepare(`UPDATE ${table} SET place = 'database' WHERE id = ?`).run(one.id)
    }
  }
}

function takeIn(connection: Connection, { content_id }: Lying, file: string): void {
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
}

const giveBack = (connection: Connection, project_id: string, kind: string, amount: number) =>
  connection
    .prepare('UPDATE project_quota SET present = present - ? WHERE project_id = ? AND kind = ?')
    .run(amount, project_id, kind)

function leaveOutArtifact(connection: Connection, { id, project_id, bytes }: Lying): void {
  connection.prepare('DELETE FROM artifact_maker WHERE artifact_id = ?').run(id)
  connection.prepare('DELETE FROM artifact WHERE id = ?').run(id)
  giveBack(connection, project_id, 'artifacts', 1)
  giveBack(connection, project_id, 'artifacts_mib', bytes)
}

function leaveOutPack(connection: Connection, { id, project_id, bytes }: Lying): void {
  const { changes } = connection.prepare('DELETE FROM recording WHERE pack_id = ?').run(id)
  connection.prepare('DELETE FROM recording_pack WHERE id = ?').run(id)
  giveBack(connection, project_id, 'recordings', Number(changes))
  giveBack(connection, project_id, 'recordings_mib', bytes)
}
