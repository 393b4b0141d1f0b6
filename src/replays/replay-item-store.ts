// The items of replay runs at rest, and what was answered to them, sealed.
import { nextSequence } from '../core/ids.ts'
import type { Sealing } from '../core/sealing.ts'
import { beginning, type Db, fixed, joined, type Sql, sql, together } from '../storage/db.ts'
import {
  type Arm,
  type ItemStatus,
  itemKey,
  mayBeAsked,
  type Reason,
  type ReplayItem,
  type Result,
  type StoredItem,
  shortened,
} from './replay-item.ts'
import type { ItemName } from './replayed-call.ts'

interface Row {
  run_id: string
  project_id: string
  trace_id: string
  arm: Arm
  position: number
  status: ItemStatus
  reason: Reason | null
  message: string | null
  planned: string
  recorded: string | null
  result: string | null
  attempts: number
  begun_ms: number | null
}

const COLUMNS = `
  SELECT run_id, project_id, trace_id, arm, position, status, reason, message, planned, recorded, result, attempts,
         begun_ms
  FROM replay_item`
const itemsWhere = beginning(COLUMNS)

const INSERTED_AT_ONCE = 50

function insertOf(items: readonly StoredItem[]): Sql {
  const rows = items.map(
    (item) => sql`(${item.replay_run_id}, ${item.project_id}, ${item.trace_id}, ${item.arm}, ${item.position},
      ${item.status}, ${item.reason}, ${shortened(item.message)}, ${JSON.stringify(item.planned)},
      ${item.recorded && JSON.stringify(item.recorded)})`,
  )
  return joined(
    sql`INSERT INTO replay_item (run_id, project_id, trace_id, arm, position, status, reason, message, planned,
                               recorded) VALUES `,
    ...rows.flatMap((row, at) => (at === 0 ? [row] : [sql`, `, row])),
  )
}

export interface ItemsAsked {
  status?: ItemStatus | undefined
  arm?: Arm | undefined
  /** A position: only what stands behind it. */
  after?: number | undefined
  limit: number
}

export interface OutputOf extends ItemName {
  key_id: string
  made_under: string | null
}

export function replayItemStore(db: Db) {
  const select = async (where: Sql) => (await db.rows<Row>(joined(fixed(COLUMNS), where))).map(fromRow)
  const named = ({ project_id, run_id, trace_id, arm }: ItemName) =>
    sql` WHERE project_id = ${project_id} AND run_id = ${run_id} AND trace_id = ${trace_id} AND arm = ${arm}`

  return {
    /** Many in a statement: a thousand by themselves would keep everybody waiting. */
    async insert(items: readonly StoredItem[]): Promise<void> {
      const some = Array.from({ length: Math.ceil(items.length / INSERTED_AT_ONCE) }, (_, at) =>
        items.slice(at * INSERTED_AT_ONCE, (at + 1) * INSERTED_AT_ONCE),
      )
      await together(some.map((rows) => db.rows(insertOf(rows))))
    },

    /** In the order in which they are asked. */
    list: (project_id: string, run_id: string, { status, arm, after = -1, limit }: ItemsAsked) =>
      select(
        joined(
          sql` WHERE project_id = ${project_id} AND run_id = ${run_id} AND position > ${after}`,
          status === undefined ? sql`` : sql` AND status = ${status}`,
          arm === undefined ? sql`` : sql` AND arm = ${arm}`,
          sql` ORDER BY position LIMIT ${limit}`,
        ),
      ),

    async find({ project_id, run_id, trace_id, arm }: ItemName): Promise<StoredItem | undefined> {
      const [row] = await db.rows<Row>(itemsWhere`
        WHERE project_id = ${project_id} AND run_id = ${run_id} AND trace_id = ${trace_id} AND arm = ${arm}`)
      return row && fromRow(row)
    },

    /**
     * Takes the next ones, for whoever has the lease of all runs. What was begun before and has no end yet is among
     * them: it is asked again under the same name. `busy` are under way here.
     */
    async claim(project_id: string, run_id: string, { most, busy, now }: Claim): Promise<StoredItem[]> {
      const rows = await db.rows<Row>(
        joined(
          fixed(COLUMNS),
          sql` WHERE project_id = ${project_id} AND run_id = ${run_id} AND status IN ('pending', 'running')
            AND not_before_ms <= ${now} ORDER BY position LIMIT ${most + busy.size}`,
        ),
      )
      const free = rows.filter(({ trace_id, arm }) => !busy.has(itemKey(run_id, trace_id, arm)))
      const taken: StoredItem[] = []
      for (const row of free.slice(0, most)) {
        if (!mayBeAsked(row.begun_ms, now))
          await this.end(row, { status: 'failed', reason: 'interrupted', message: null })
        else {
          await db.rows(
            joined(sql`UPDATE replay_item SET status = 'running', begun_ms = ${row.begun_ms ?? now}`, named(row)),
          )
          taken.push(fromRow(row))
        }
      }
      return taken
    },

    /** Whether anything is left to be asked, now or later. */
    async hasOpen(project_id: string, run_id: string): Promise<boolean> {
      const open = await db.rows(sql`
        SELECT position FROM replay_item
        WHERE project_id = ${project_id} AND run_id = ${run_id} AND status IN ('pending', 'running') LIMIT 1`)
      return open.length > 0
    },

    async done(name: ItemName, result: Result): Promise<boolean> {
      const ended = await db.rows(
        joined(
          sql`
            UPDATE replay_item SET status = 'done', reason = NULL, message = NULL, result = ${JSON.stringify(result)}`,
          named(name),
          sql` AND status IN ('running', 'skipped') RETURNING position`,
        ),
      )
      return ended.length === 1
    },

    async end(name: ItemName, { status, reason, message }: Ending): Promise<void> {
      await db.rows(
        joined(
          sql`UPDATE replay_item SET status = ${status}, reason = ${reason}, message = ${shortened(message)}`,
          named(name),
          sql` AND status IN ('pending', 'running')`,
        ),
      )
    },

    async postpone(name: ItemName, { not_before_ms, attempts, message }: Later): Promise<void> {
      await db.rows(
        joined(
          sql`UPDATE replay_item SET not_before_ms = ${not_before_ms}, attempts = ${attempts},
                                     message = ${shortened(message)}`,
          named(name),
          sql` AND status = 'running'`,
        ),
      )
    },

    /** All that was not begun. */
    async skipAll(project_id: string, run_id: string, reason: Reason): Promise<void> {
      await db.rows(sql`
        UPDATE replay_item SET status = 'skipped', reason = ${reason}
        WHERE project_id = ${project_id} AND run_id = ${run_id} AND status IN ('pending', 'running')`)
    },
  }
}

interface Claim {
  most: number
  busy: ReadonlySet<string>
  now: number
}

interface Ending {
  status: 'skipped' | 'failed'
  reason: Reason
  message: string | null
}

interface Later {
  not_before_ms: number
  attempts: number
  message: string | null
}

const INGREDIENT = 'replay output'

/** R70: in the transaction of what is added or goes, so that it is exact. */
export interface OutputQuota {
  /** False where there is no room. */
  take(tx: Db, project_id: string, bytes: number): Promise<boolean>
  giveBack(tx: Db, project_id: string, bytes: number): Promise<void>
}

/** Contents: they go with their run, or by a purge job. */
export const replayOutputStore = (db: Db, seals: Sealing) => ({
  /** In a transaction; nothing is kept where there is no room. */
  async insert(of: OutputOf, answer: Uint8Array, quota: OutputQuota, now: number): Promise<void> {
    const id = itemKey(of.run_id, of.trace_id, of.arm)
    const sealed = seals.seal(answer, INGREDIENT, id)
    if (!(await quota.take(db, of.project_id, sealed.length))) return
    const inserted = await db.rows(sql`
      INSERT INTO replay_output (id, run_id, project_id, trace_id, key_id, made_under, created_ms, sequence, sealed,
                                 bytes)
      VALUES (${id}, ${of.run_id}, ${of.project_id}, ${of.trace_id}, ${of.key_id}, ${of.made_under}, ${now},
              ${nextSequence(now)}, ${sealed}, ${sealed.length})
      ON CONFLICT (id) DO NOTHING RETURNING id`)
    if (inserted.length === 0) await quota.giveBack(db, of.project_id, sealed.length)
  },

  async find({ project_id, run_id, trace_id, arm }: ItemName): Promise<Buffer | undefined> {
    const id = itemKey(run_id, trace_id, arm)
    const [row] = await db.rows<{ sealed: Uint8Array }>(sql`
      SELECT sealed FROM replay_output WHERE project_id = ${project_id} AND id = ${id}`)
    return row && seals.open(row.sealed, INGREDIENT, id)
  },
})

function fromRow(row: Row): StoredItem {
  const { run_id, planned, recorded, result, begun_ms: _begun_ms, ...more } = row
  return {
    ...more,
    replay_run_id: run_id,
    planned: JSON.parse(planned),
    recorded: recorded === null ? null : JSON.parse(recorded),
    result: result === null ? null : JSON.parse(result),
  }
}

/** As the API shows it. */
export function shownItem({ position: _position, attempts: _attempts, project_id: _project, ...item }: StoredItem) {
  return { object: 'replay_item', ...item } satisfies ReplayItem
}
