// One hot key: how many calls a second can be held and settled, with a row for each hold and out of leased slices (R43),
// on each engine. Straight on the stores: no HTTP, no upstream, no usage events; the money alone.
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { HoldOutcome } from '../src/budgets/budget.ts'
import { budgetStore } from '../src/budgets/budget-store.ts'
import type { LimitedSpender } from '../src/budgets/slice.ts'
import { slices } from '../src/budgets/slice-store.ts'
import { systemClock } from '../src/core/clock.ts'
import { sealing } from '../src/core/sealing.ts'
import type { Bill } from '../src/generations/bill.ts'
import { charges } from '../src/generations/settle.ts'
import { foundProject } from '../src/start/bootstrap.ts'
import { type Db, type OpenDb, sql } from '../src/storage/db.ts'
import { migrate } from '../src/storage/migrate.ts'
import { openPostgres } from '../src/storage/postgres.ts'
import { openSqlite } from '../src/storage/sqlite.ts'
import { ownPostgresServer } from '../test/support/postgres-server.ts'
import { spread } from './figures.ts'
import type { Conditions } from './measure.ts'
import { temporaryFolder } from './processes.ts'
import { record } from './report.ts'

const HOLD_MICROS = 2_000
const COST_MICROS = 700
const CALL_MS = 5 // as long as a quick upstream takes
const LIMIT_MICROS = 1_000_000_000_000
const PROCESS = 'bench'

interface Way {
  name: string
  hold(): Promise<HoldOutcome>
}

export async function holds({ rounds, seconds, connections }: Conditions): Promise<string> {
  const lines = [`\nHolds on one hot key, ${connections} calls at any time of ${CALL_MS} ms each, ${rounds} rounds`]
  for (const open of [embedded, server]) {
    const { db, close } = await open()
    try {
      while ((await migrate(db, systemClock)) === 'busy');
      for (const { name, rates } of await measured(db, { rounds, seconds, connections })) {
        const { p20, median, p80 } = spread(rates)
        lines.push(`${db.engine.padEnd(9)} ${name.padEnd(20)} ${median} a second (p20 ${p20}, p80 ${p80})`)
        record('Holds', { engine: db.engine, name, rates })
      }
    } finally {
      await close()
    }
  }
  return lines.join('\n')
}

type Measuring = Pick<Conditions, 'rounds' | 'seconds' | 'connections'>

async function measured(db: OpenDb, { rounds, seconds, connections }: Measuring) {
  const who = await newSpender(db)
  const [leased, budgetsOn] = [slices(db, PROCESS), (on: Db) => budgetStore(on, PROCESS)]
  const { now } = systemClock
  const nobody = () => {}
  const { settle } = charges({
    ...{ db, now, budgetsOn, slices: leased, usageOn: () => ({ insert: async () => {} }) },
    seals: sealing('a secret for benchmarks, 32 characters'),
    subscriptionsOn: () => ({ useTokens: async () => 0 }),
    idempotencyOn: () => ({ keep: async () => true, ended: nobody }),
    onSettled: nobody,
  })
  const ways: Way[] = [
    { name: 'a row for each hold', hold: () => budgetsOn(db).hold(who, HOLD_MICROS, now()) },
    { name: 'leased slices', hold: () => leased.hold(who, HOLD_MICROS, now()) },
  ]
  const found = ways.map(({ name }) => ({ name, rates: [] as number[] }))
  let calls = 0
  for (let round = 0; round < rounds; round++)
    for (const [at, { hold }] of ways.entries()) {
      const ends_ms = performance.now() + seconds * 1_000
      const before = calls
      const lane = async () => {
        while (performance.now() < ends_ms) {
          const outcome = await hold()
          if (outcome.kind !== 'held') throw new Error('the limit is large enough for all of them')
          await sleep(CALL_MS)
          await settle({ ...bill, spender: who, hold: outcome.hold } as Bill)
          calls++
        }
      }
      await Promise.all(Array.from({ length: connections }, lane))
      found[at]?.rates.push(Math.round((calls - before) / seconds))
    }
  await assertBalanced(db, who, calls * COST_MICROS)
  return found
}

/** Of a target with a fee, whose event nobody writes. */
const bill = {
  target: { pricing: { kind: 'fee', micros: COST_MICROS } },
  outcome: { ending: 'completed', tokens: {}, waived_micros: 0, repeated_tokens_est: 0, received_at: 0 },
} as unknown as Bill

async function newSpender(db: OpenDb): Promise<LimitedSpender> {
  const { project, key } = await foundProject(
    db,
    { name: 'bench', owner_email: 'bench@example.com', verified: true },
    systemClock.now(),
  )
  const key_id = key.api_key.id
  await db.rows(sql`UPDATE api_key SET budget_micros = ${LIMIT_MICROS} WHERE id = ${key_id}`)
  return { project_id: project.id, key_id, budget_micros: LIMIT_MICROS }
}

/** Fast and wrong is not a figure. */
async function assertBalanced(db: OpenDb, { key_id }: LimitedSpender, spent: number): Promise<void> {
  const [key] = await db.rows<{ spent_micros: number; held_micros: number }>(sql`
    SELECT spent_micros, held_micros FROM api_key WHERE id = ${key_id}`)
  if (key?.spent_micros !== spent || key.held_micros !== 0)
    throw new Error(`the books do not balance: ${JSON.stringify(key)}, ${spent} spent`)
}

async function embedded() {
  const folder = temporaryFolder()
  const db = openSqlite(join(folder.path, 'holds.db'))
  return {
    db,
    async close() {
      await db.close()
      folder.remove()
    },
  }
}

async function server() {
  const postgres = await ownPostgresServer()
  const db = openPostgres(postgres.url)
  return {
    db,
    async close() {
      await db.close()
      await postgres.stop()
    },
  }
}
