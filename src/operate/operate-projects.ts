// What an operator does to the projects of a store by hand, also beside a running server: list them, add a key to one,
// print the link for its first owner. What changes a project is on record there.
import { linkTo } from '../accounts/letters.ts'
import { ownerLinkStore } from '../accounts/owner-link-store.ts'
import { type Clock, rfc3339, systemClock } from '../core/clock.ts'
import { type ApiKey, createKey, type NewKey } from '../keys/key.ts'
import { keyStore } from '../keys/key-store.ts'
import type { Config } from '../start/config.ts'
import { openStore } from '../start/open-store.ts'
import { type Db, sql } from '../storage/db.ts'
import { assertStoreIn, OperationError } from './operate.ts'
import { noteDeed } from './operator-notes.ts'

export interface ListedProject {
  id: string
  object: 'project'
  name: string
  owner_email: string
  /** Keys that work. */
  keys: number
  cap_micros: number | null
  spent_micros: number
  created_at: string
}

/** Oldest first: the one of the first start is at the top. */
export function listProjects(config: Config, clock = systemClock): Promise<ListedProject[]> {
  return onStore(config, clock, async (db, now) => {
    const rows = await db.rows<Omit<ListedProject, 'object'>>(sql`
      SELECT p.id, p.name, o.email AS owner_email, p.cap_micros, p.spent_micros, p.created_at,
        (SELECT COUNT(*) FROM api_key k WHERE k.project_id = p.id AND k.status = 'active'
          AND (k.expires_at IS NULL OR k.expires_at > ${now})) AS keys
      FROM project p JOIN person o ON o.id = p.owner_id ORDER BY p.sequence`)
    return rows.map((row) => ({ ...row, object: 'project' as const, keys: Number(row.keys) }))
  })
}

/** Also the way back in where the last admin key is lost. */
export function createKeyIn(
  config: Config,
  project: string,
  asked: NewKey,
  clock = systemClock,
): Promise<ApiKey & { key: string }> {
  return onStore(config, clock, (db, now) =>
    db.transaction(async (tx) => {
      const { id: project_id } = await projectNamed(tx, project)
      const { api_key, raw } = await keyStore(tx).insert(createKey(project_id, asked, now), now)
      await noteDeed(tx, { project_id, action: 'switchyard key create', target: api_key.id }, now)
      return { ...api_key, key: raw }
    }),
  )
}

export interface PrintedLink {
  project_id: string
  project_name: string
  url: string
  expires_at: string
}

/** `project`: an id or a name; without it, the one of the first start. `base`: where people reach the console. */
export function ownerLink(
  config: Config,
  { project, base }: { project?: string | undefined; base: string },
  clock = systemClock,
): Promise<PrintedLink> {
  return onStore(config, clock, (db, now) =>
    db.transaction(async (tx) => {
      const { id: project_id, name: project_name } = project ? await projectNamed(tx, project) : await operators(tx)
      const links = ownerLinkStore(tx)
      const [owner] = await links.ownersOf(project_id)
      if (owner !== undefined)
        throw new OperationError(`Project ${project_id} has an owner who can sign in: ${owner}. They invite others.`)
      const { secret, expires_at } = await links.mint(project_id, now)
      await noteDeed(tx, { project_id, action: 'switchyard owner-link', target: project_id }, now)
      return { project_id, project_name, url: linkTo(base, 'become-owner', secret), expires_at: rfc3339(expires_at) }
    }),
  )
}

export async function onStore<T>(config: Config, clock: Clock, work: (db: Db, now: number) => Promise<T>): Promise<T> {
  if (!config.database_url) assertStoreIn(config.data_dir)
  const { db } = await openStore(config, clock)
  try {
    return await work(db, clock.now())
  } finally {
    await db.close()
  }
}

interface Named {
  id: string
  name: string
}

export async function projectNamed(db: Db, text: string): Promise<Named> {
  const found = await db.rows<Named>(sql`
    SELECT id, name FROM project WHERE id = ${text} OR name = ${text} ORDER BY sequence LIMIT 11`)
  const [only, ...others] = found.filter(({ id }) => id === text).concat(found.filter(({ id }) => id !== text))
  if (!only) throw new OperationError(`There is no project '${text}'. \`switchyard project list\` shows them.`)
  if (only.id !== text && others.length > 0)
    throw new OperationError(`Several projects are called '${text}'. Give the id of one: ${ids(found)}.`)
  return only
}

const SHOWN_MAX = 10
const ids = (found: readonly Named[]) =>
  [...found.slice(0, SHOWN_MAX).map(({ id }) => id), ...(found.length > SHOWN_MAX ? ['…'] : [])].join(', ')

/** R79: the operator's, which the first start made. */
export async function operators(db: Db): Promise<Named> {
  const [first] = await db.rows<Named>(sql`
    SELECT p.id, p.name FROM setting s JOIN project p ON p.id = s.value WHERE s.name = 'operator_project'`)
  if (!first) throw new OperationError('There is no project yet: the first `switchyard serve` makes one.')
  return first
}
