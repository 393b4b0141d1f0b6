// Targets that are left alone, and that are back: noted in memory where calls find out, told by a task a second later.
// A target is told of once an hour, whichever replica finds out, until it is back.
import { type Clock, HOUR_MS } from '../core/clock.ts'
import { type Db, sql } from '../storage/db.ts'
import { tellOnce, tellOver } from '../storage/telling.ts'
import { targetBack, targetLeft } from './happening.ts'
import { noted } from './noted.ts'

const NOTED = { of_project_max: 250, of_all_max: 2_000 }
const PROJECTS_AT_ONCE = 1_000

interface Turned {
  target: string
  left_by: 'everyone' | 'project'
  /** Whose call found out. */
  project_id: string
  is_open: boolean
}

export function circuitNotices(db: Db, clock: Clock) {
  /** The last that is known of each. */
  const notes = noted<Turned>(NOTED)

  /** A provider is everybody's; a cluster or a credential is told of to its own project only. */
  async function concerned({ target, left_by, project_id }: Turned): Promise<string[]> {
    if (left_by === 'project') return [project_id]
    const [kind, id = ''] = [target.slice(0, target.indexOf(':')), target.slice(target.indexOf(':') + 1)]
    const rows = await (kind === 'cluster'
      ? db.rows<{ id: string }>(sql`SELECT project_id AS id FROM byoc_cluster WHERE id = ${id}`)
      : kind === 'credential'
        ? db.rows<{ id: string }>(sql`SELECT project_id AS id FROM provider_credential WHERE id = ${id}`)
        : db.rows<{ id: string }>(sql`
            SELECT DISTINCT project_id AS id FROM notification_channel WHERE status = 'active'
            ORDER BY project_id LIMIT ${PROJECTS_AT_ONCE}`))
    return rows.map((row) => row.id)
  }

  async function tellOf(turned: Turned): Promise<void> {
    const { target, is_open, left_by } = turned
    const mark = `circuit ${left_by} ${target}`
    const state = `open ${Math.floor(clock.now() / HOUR_MS)}` // again after an hour: a process that ended tells no more
    for (const id of await concerned(turned))
      await db.transaction((tx) =>
        is_open
          ? tellOnce(tx, { mark, state }, targetLeft(id, target, left_by), clock.now())
          : tellOver(tx, mark, targetBack(id, target), clock.now()),
      )
  }

  return {
    /** On the path of a call, where a circuit opens or closes: remembers it, and nothing else. */
    note(turned: Turned): void {
      notes.note(nameOf(turned), { project_id: ownerOf(turned), one: turned })
    },

    async flush(): Promise<void> {
      for (const [name, turned] of notes.all()) {
        await tellOf(turned)
        notes.told(name, turned)
      }
    },
  }
}

/** A provider that everybody leaves alone takes no place of whose call found out. */
const ownerOf = ({ target, left_by, project_id }: Turned) =>
  left_by === 'everyone' && target.startsWith('provider:') ? '' : project_id

const nameOf = ({ target, left_by, project_id }: Turned) =>
  left_by === 'everyone' ? target : `${project_id} ${target}`
