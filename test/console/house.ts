// A project grown large, put into a store with the service's own rules: thousands of keys with children among them,
// months of usage by all of them, a fleet, refusals. Roll-ups are made as housekeeping makes them.
import { benchEvent, randomness } from '../../bench/usage-events.ts'
import { loadUsage } from '../../bench/usage-load.ts'
import { cookieName } from '../../src/accounts/session-cookie.ts'
import { carveStore } from '../../src/budgets/carve-store.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, systemClock } from '../../src/core/clock.ts'
import { bornOf, createChild } from '../../src/keys/child-key.ts'
import { keyStore } from '../../src/keys/key-store.ts'
import type { Db, OpenDb } from '../../src/storage/db.ts'
import type { UsageEvent } from '../../src/usage/usage-event.ts'
import { usageRollups } from '../../src/usage/usage-rollup-store.ts'
import { usageStore } from '../../src/usage/usage-store.ts'
import type { ConsoleScene } from './console-scene.ts'
import { writeRefusals } from './house-refusals.ts'
import { PASSWORD, type SeededKey, seedKeys, seedOwner, seedSpending } from './seed.ts'
import { seedClusters, seedFleet, seedRouting } from './seed-fleet.ts'
import { seedRefusals, seedTrace } from './traffic.ts'

export interface HouseSize {
  keys: number
  events: number
  clusters: number
  refusals: number
}

/** What leads to its pages. */
export interface House extends HouseSize {
  email: string
  password: string
  project_id: string
  key_id: string
  parent_id: string
  cluster_id: string
  trace_id: string
  refused_id: string
}

const DAYS = 90
const CHILDREN = 200 // of one key, an orchestrator
const WRITTEN_AT_ONCE = 250 // SQLite walks through all that a transaction has touched, statement by statement
const ROLLED_AT_ONCE = 5_000 // each batch looks at all of its days again; small ones would take an hour
const ROLLS_MAX = 100_000
const BY_STORE_MAX = 20_000
const TAGGED_EVERY = 3
const TEAMS = ['search', 'support', 'evaluation', 'growth', 'data']

const now = () => systemClock.now()

export async function fillHouse(db: OpenDb, size: HouseSize, say = (_: string) => {}): Promise<House> {
  await db.rows({ text: ['PRAGMA cache_size = -500000'], values: [] }) // KiB: months are written in one go
  const { email, project_id } = await seedOwner(db)
  const children = Math.min(CHILDREN, Math.floor(size.keys / 10))
  const key_ids = await seedKeys(db, project_id, Array.from({ length: size.keys - children }, keyAt))
  const [key_id = '', parent_id = ''] = key_ids
  key_ids.push(...(await bearChildren(db, { project_id, parent_id }, children)))
  say(`${key_ids.length} keys`)
  await seedSpending(db, project_id)
  const [cluster_id = ''] = (await seedFleet(db, project_id)).slice(-1)
  const more = Array.from({ length: size.clusters - 4 }, clusterAt)
  const cluster_ids = [cluster_id, ...(await seedClusters(db, project_id, more))]
  await seedRouting(db, project_id, cluster_id)
  await seedRefusals(db, project_id, DAYS)
  await writeUsage(db, { project_id, key_ids, cluster_ids, events: size.events })
  const trace_id = await seedTrace(db, project_id, key_id)
  const refused_id = await writeRefusals(db, { project_id, key_ids, refusals: size.refusals })
  say(`${size.events} usage events over ${DAYS} days`)
  await rollEverything(db)
  say('rolled up')
  const ids = { project_id, key_id, parent_id, cluster_id, trace_id, refused_id }
  return { ...size, ...ids, email, password: PASSWORD }
}

const NAMES = [
  'research-agent',
  'support-triage',
  'nightly-eval',
  'ci',
  'crawler',
  'code-review',
  'summaries',
  'search',
]

/** The newest first: some near their limit, some over it, some without one, some revoked, some never used. */
function keyAt(_: unknown, at: number): SeededKey {
  const budget_micros = 5_000_000 * (1 + (at % 20))
  return {
    name: `${NAMES[at % NAMES.length]}-${at}`,
    made_ms_ago: (at + 1) * HOUR_MS,
    spent_micros: at % 501 === 7 ? budget_micros : Math.floor((budget_micros * ((at * 37) % 70)) / 100),
    ...(at % 3 > 0 && { budget_micros }),
    ...(at % 11 > 0 && { used_ms_ago: ((at * 13) % 2_000) * 61_000 }),
    revoked: at % 17 === 16,
  }
}

/** An orchestrator's runs, each with its own part of the money. */
async function bearChildren(db: Db, of: { project_id: string; parent_id: string }, count: number): Promise<string[]> {
  const { project_id, parent_id } = of
  const parent = await keyStore(db).find(project_id, parent_id)
  if (!parent) throw new Error('the parent was not made')
  return db.transaction(async (tx) => {
    const ids: string[] = []
    for (let at = 0; at < count; at++) {
      const minted = createChild(parent, { name: `run-${at}`, limit_usd: 0.01, ttl_seconds: 86_400 }, now())
      const from = { project_id, key_id: parent_id, children_max: count }
      const child = bornOf(minted, await carveStore(tx).carve(from, minted.api_key.budget_micros ?? 0, now()))
      ids.push((await keyStore(tx).insert(child, now())).api_key.id)
    }
    return ids
  })
}

const clusterAt = (_: unknown, at: number) => ({
  name: `${['rack', 'pod', 'hall'][at % 3]}-${at}`,
  region: ['eu-west-1', 'us-east-1', 'ap-south-1'][at % 3] ?? '',
  endpoint: `https://cluster-${at}.example.com/v1`,
  models: ['llama-3.3-70b', 'qwen3-32b'],
  busy: (at % 10) / 10,
  // Ahead of time, so that the service's own sweep leaves it as it is.
  reports: [
    ['active', 40 * HOUR_MS],
    ['active', -HOUR_MS],
  ] as const,
})

interface Usage {
  project_id: string
  key_ids: readonly string[]
  cluster_ids: readonly string[]
  events: number
}

/** The first keys are the busiest; every key has some. Beyond what a server would take an hour for, past its work. */
async function writeUsage(db: OpenDb, usage: Usage): Promise<void> {
  const { project_id, key_ids, events } = usage
  const written_by_store = Math.min(events, BY_STORE_MAX)
  const changed = (made: UsageEvent, random: () => number) => ofHouse(made, usage, random)
  if (events > written_by_store)
    await loadUsage(db, '', {
      owner: { project_id, keys: key_ids },
      events: events - written_by_store,
      end_ms: now() - MINUTE_MS,
      changed,
    })
  await writeByStore(db, { ...usage, events: written_by_store })
}

const picked = <T>(all: readonly T[], part: number) => all[Math.floor(part * all.length)]

const ofHouse = (made: UsageEvent, { key_ids, cluster_ids }: Usage, random: () => number): UsageEvent => ({
  ...made,
  cluster_id: made.cluster_id === null ? null : (picked(cluster_ids, random()) ?? null),
  key_id: picked(key_ids, random() ** 3) ?? '',
})

/** Oldest first, as they came, some of them with a tag. */
async function writeByStore(db: Db, of: Usage): Promise<void> {
  const { project_id, key_ids, events } = of
  const random = randomness(20_261_115)
  const start_ms = now() - DAYS * DAY_MS
  for (let written = 0; written < events; ) {
    const end = Math.min(events, written + WRITTEN_AT_ONCE)
    await db.transaction(async (tx) => {
      const usage = usageStore(tx)
      for (; written < end; written++) {
        const time_ms = Math.floor(start_ms + (DAYS * DAY_MS * written) / events)
        const made = benchEvent(written, time_ms, random, { project_id, keys: key_ids })
        const tags = written % TAGGED_EVERY === 0 ? { tags: { team: TEAMS[written % TEAMS.length] ?? '' } } : {}
        await usage.insert({ ...ofHouse(made, of, random), ...tags })
      }
    })
  }
}

/** The server's own housekeeping may be at it too; then it is waited for. */
async function rollEverything(db: Db): Promise<void> {
  for (let rolls = 0; rolls < ROLLS_MAX; rolls++)
    if ((await usageRollups(db).roll(ROLLED_AT_ONCE)) === 0 && (await usageRollups(db).waiting()) === 0) return
  throw new Error('usage is still not rolled up')
}

/** Over the page of signing in. Returns the cookie. */
export async function signIn(scene: ConsoleScene, { email, password }: House): Promise<string> {
  const { page, context, close } = await scene.visit('/sign-in')
  await page.getByLabel('E-mail').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.waitForURL((url) => !url.pathname.endsWith('/sign-in'))
  const cookie = (await context.cookies()).find(({ name }) => name === cookieName(false))?.value
  if (cookie === undefined) throw new Error('signed in, and no cookie')
  await close()
  return cookie
}
