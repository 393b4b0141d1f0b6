// `switchyard import`: what another gateway was set up with becomes a switchyard.yaml, and keys in the store. A second
// run changes nothing.
import { createHmac } from 'node:crypto'
import { basename } from 'node:path'
import { type Clock, rfc3339, systemClock } from '../core/clock.ts'
import { label } from '../core/shapes.ts'
import { readBifrost } from '../imports/bifrost-config.ts'
import type { Finding } from '../imports/foreign-file.ts'
import type { ImportPlan, PlannedKey } from '../imports/import-plan.ts'
import { readLitellm } from '../imports/litellm-config.ts'
import { readLitellmKeys } from '../imports/litellm-keys.ts'
import { readPortkey } from '../imports/portkey-config.ts'
import { importedKeyStore } from '../keys/imported-key-store.ts'
import type { ApiKey } from '../keys/key.ts'
import { keyStore } from '../keys/key-store.ts'
import { modelNames } from '../keys/key-terms.ts'
import { keyLimitsStore } from '../limits/key-limits-store.ts'
import type { Config } from '../start/config.ts'
import { openStore } from '../start/open-store.ts'
import type { Db } from '../storage/db.ts'
import { readForeign } from './foreign-text.ts'
import { assertAccepted, assertFree, importedText, variablesIn, writeImported } from './import-file.ts'
import { assertStoreIn } from './operate.ts'
import { operators, projectNamed } from './operate-projects.ts'
import { noteDeed } from './operator-notes.ts'

export type ImportKind = 'litellm' | 'bifrost' | 'portkey'

export interface ImportAsked {
  kind: ImportKind
  file: string
  /** LiteLLM's export of its keys. */
  keys?: string | undefined
  /** LiteLLM's table of prices. */
  prices?: string | undefined
  /** Where switchyard.yaml is written. */
  out: string
  /** Where keys go: an id or a name; without it, the project of the first start. */
  project?: string | undefined
  /** By team of LiteLLM, the project that its keys go to. */
  teams?: Readonly<Record<string, string>> | undefined
  /** Of the alias that a Portkey config becomes. */
  name?: string | undefined
  dry_run: boolean
  force: boolean
}

export interface Imported {
  object: 'import'
  dry_run: boolean
  file: string
  /** Whether the file was there, with the same text. */
  file_present: boolean
  text: string
  variables: string[]
  providers: number
  models: number
  aliases: number
  keys: { created: number; present: number; planned: { name: string; masked: string; project: string }[] }
  findings: Finding[]
}

export async function importFrom(config: Config, asked: ImportAsked, clock: Clock = systemClock): Promise<Imported> {
  const plan = planOf(config, asked, clock.now())
  const placed = withProjects(plan, asked)
  const text = importedText(plan)
  assertAccepted(text, asked.out)
  const file_present = assertFree(asked.out, text, asked.force) === 'same'
  const counts = asked.dry_run || placed.length === 0 ? none : await storeKeys(config, placed, clock)
  if (!asked.dry_run && !file_present) writeImported(asked.out, text)
  const models = plan.providers.reduce((sum, provider) => sum + provider.models.length, 0)
  const planned = placed.map(({ key: { name, masked }, project = 'of the first start' }) => ({ name, masked, project }))
  return {
    object: 'import',
    dry_run: asked.dry_run,
    file: asked.out,
    file_present,
    text,
    variables: variablesIn(text),
    providers: plan.providers.length,
    models,
    aliases: plan.aliases.length,
    keys: { ...counts, planned },
    findings: plan.findings.sort((a, b) => (a.file === b.file ? a.line - b.line : 0)),
  }
}

const none = { created: 0, present: 0 }

function planOf({ variables }: Config, asked: ImportAsked, now: number): ImportPlan {
  const table = (asked.prices === undefined ? {} : readForeign(asked.prices).value) as Record<string, unknown>
  const source = readForeign(asked.file)
  if (asked.kind === 'bifrost') return readBifrost(source, table)
  if (asked.kind === 'portkey') return readPortkey(source, { table, name: asked.name ?? nameOf(asked.file) })
  const plan = readLitellm(source, table, (name) => variables[name])
  if (asked.keys === undefined) return plan
  const { keys, findings } = readLitellmKeys(readForeign(asked.keys), { access_groups: plan.access_groups, now })
  return { ...plan, keys: [...plan.keys, ...keys], findings: [...plan.findings, ...findings] }
}

const nameOf = (file: string) =>
  basename(file)
    .replace(/\.[^.]*$/, '')
    .toLowerCase()

interface PlacedKey {
  key: PlannedKey
  /** Undefined: that of the first start. */
  project: string | undefined
}

/** A team is a project here, where somebody says which one. */
function withProjects(plan: ImportPlan, { project, teams = {}, keys: file = '' }: ImportAsked): PlacedKey[] {
  const homeless = new Map<string, number>()
  const placed = plan.keys.map((key) => {
    const own = key.team === undefined ? undefined : teams[key.team]
    if (key.team !== undefined && own === undefined) homeless.set(key.team, (homeless.get(key.team) ?? 0) + 1)
    return { key, project: own ?? project }
  })
  for (const [team, count] of homeless) {
    const told = `'${team}' of ${count} key${count === 1 ? '' : 's'} is no project: give --team ${team}=<project>`
    plan.findings.push({ file, line: 1, field: 'team_id', kind: 'changed', told })
  }
  return placed
}

const BATCH = 500 // a server beside us waits for its turn to write

async function storeKeys(config: Config, placed: readonly PlacedKey[], clock: Clock) {
  if (!config.database_url) assertStoreIn(config.data_dir)
  const { db, secret } = await openStore(config, clock)
  const counts = { created: 0, present: 0 }
  try {
    const projects = await projectIds(db, placed)
    for (let at = 0; at < placed.length; at += BATCH) {
      const created = await db.transaction((tx) =>
        storeBatch(tx, placed.slice(at, at + BATCH), { projects, secret, now: clock.now() }),
      )
      counts.created += created
      counts.present += Math.min(BATCH, placed.length - at) - created
    }
  } finally {
    await db.close()
  }
  return counts
}

type Projects = ReadonlyMap<string | undefined, string>

/** All of them are looked up before the first key is made. */
async function projectIds(db: Db, placed: readonly PlacedKey[]): Promise<Projects> {
  const found = new Map<string | undefined, string>()
  for (const project of new Set(placed.map((one) => one.project)))
    found.set(project, (project === undefined ? await operators(db) : await projectNamed(db, project)).id)
  return found
}

interface Storing {
  projects: Projects
  secret: string
  now: number
}

async function storeBatch(tx: Db, batch: readonly PlacedKey[], { projects, secret, now }: Storing): Promise<number> {
  const changed = new Set<string>()
  let created = 0
  for (const { key, project } of batch) {
    const id = importedId(key.hash, secret)
    const project_id = projects.get(project) as string
    if (await importedKeyStore(tx).isPresent(id, key.hash)) continue
    await storeKey(tx, apiKeyOf(key, { id, project_id, now }), key, now)
    changed.add(project_id)
    created++
  }
  for (const project_id of changed)
    await noteDeed(tx, { project_id, action: 'switchyard import', target: project_id }, now)
  return created
}

const ID_HEX = 32

/** The same for one secret, so that a key that was revoked or rotated here is known again. Tells nothing of it. */
const importedId = (hash: string, secret: string) =>
  `key_${createHmac('sha256', secret).update(`imported key ${hash}`).digest('hex').slice(0, ID_HEX)}`

function apiKeyOf(key: PlannedKey, { id, project_id, now }: { id: string; project_id: string; now: number }): ApiKey {
  const { name, masked, spent_micros, budget_micros, expires_at, allowed_models } = key
  return {
    id,
    object: 'api_key',
    project_id,
    name: label('name', name),
    masked,
    scopes: ['inference'],
    status: 'active',
    created_at: rfc3339(now),
    spent_micros,
    ...(budget_micros !== undefined && { budget_micros }),
    ...(expires_at !== undefined && { expires_at: rfc3339(expires_at) }),
    ...(allowed_models && { allowed_models: [...modelNames(allowed_models)] }),
  }
}

/** R5: of a form that is not ours, so the server knows it by its hash, like a key that the operator chose. */
async function storeKey(tx: Db, api_key: ApiKey, planned: PlannedKey, now: number): Promise<void> {
  const { id, project_id } = api_key
  const { hash, window, requests_per_minute, tokens_per_minute, max_parallel_requests } = planned
  await keyStore(tx).insert({ api_key, raw: '', hash, origin: 'operator' }, now)
  if (window) {
    await keyStore(tx).setWindow(project_id, id, window, now)
    await importedKeyStore(tx).setWindowSpent(project_id, id, window.spent_micros)
  }
  if ((requests_per_minute ?? tokens_per_minute ?? max_parallel_requests) !== undefined)
    await keyLimitsStore(tx).set(project_id, id, {
      ...(requests_per_minute !== undefined && { requests_per_minute }),
      ...(tokens_per_minute !== undefined && { tokens_per_minute }),
      ...(max_parallel_requests !== undefined && { max_parallel_requests }),
    })
}
