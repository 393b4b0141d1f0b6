// R43: in which order holds take the rows that carry money, and in which they are given back: one order for all, or two
// transactions of PostgreSQL wait for each other.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { childOf, parentIn, spenderOf } from '../../test/support/families.ts'
import { type Tampering, tamperedDb, textOf } from '../../test/support/tampered-db.ts'
import { sql } from '../storage/db.ts'
import { budgetStore } from './budget-store.ts'

const LIMITED = /^\s*UPDATE (project|api_key|tag_budget)\b/

withDb((db) => {
  test.each(['child', 'parent'])(
    'R43 a %s key under the budget of a tag: keys before tags, both ways',
    async (which) => {
      const parent = await parentIn(db(), { budget: 1_000_000, cap: 5_000_000 })
      const key = which === 'child' ? await childOf(db(), parent, 600_000) : parent
      if (!key) throw new Error('the child fits')
      const { project_id } = parent
      const id = `tgb_${which}`
      await db().rows(sql`
        INSERT INTO tag_budget (id, project_id, name, value, limit_micros, created_at, sequence)
        VALUES (${id}, ${project_id}, 'team', 'search', 1000000, '2026-01-01T00:00:00Z', 1)`)
      const taken: string[] = []
      const tampering: Tampering = {
        rows(statement, run) {
          const [, table] = LIMITED.exec(textOf(statement)) ?? []
          if (table) taken.push(table)
          return run(statement)
        },
      }
      const budgets = budgetStore(tamperedDb(db(), tampering), 'process')
      const held = await budgets.hold({ ...spenderOf(key), tag_budgets: [id] }, 10, NOON)
      if (held.kind !== 'held') throw new Error('it fits')
      const by_hold = taken.splice(0)
      await budgets.release(held.hold)
      for (const order of [by_hold, taken]) expect(order.slice(-2)).toEqual(['api_key', 'tag_budget'])
      const [row] = await db().rows(sql`SELECT held_micros FROM tag_budget WHERE project_id = ${project_id}`)
      expect(row).toEqual({ held_micros: 0 })
    },
  )
})
