// R71: waivers at rest. One conditional update of the project's row decides, so that no number of streams or replicas
// together waives more than a day's bound. Asked only when a deadline has passed; what is known from the last refusal
// serves whoever must say something before.
import { DAY_MS, MINUTE_MS, rfc3339 } from '../core/clock.ts'
import { asideFirst, type Db, joined, type Sql, sql } from '../storage/db.ts'
import { cubeName, cubeWith } from '../usage/usage-rollup.ts'
import type { WaiverTerms } from './waiver.ts'

const KNOWN_FOR_MS = MINUTE_MS // a share of the charges grows with them
const KNOWN_MAX = 10_000
const TOTAL_BY_DAY = cubeName('day', cubeWith([]))

interface Known {
  left_micros: number
  day: string
  at: number
}

export type Waivers = ReturnType<typeof waivers>

/** The terms are read each time: a reload may change them (R83). */
export function waivers(db: Db, settings: { readonly deadlines: WaiverTerms }) {
  const known = new Map<string, Known>()

  async function learnLeft(project_id: string, day: string, now: number): Promise<void> {
    const [row] = await db.rows<{ waived_micros: number; charged_micros: number }>(
      asideFirst(
        joined(
          sql`SELECT`,
          waivedOn(day),
          sql`AS waived_micros,`,
          chargedOn(project_id, now),
          sql`AS charged_micros FROM project WHERE id = ${project_id}`,
        ),
      ),
    )
    if (!row) return
    const { waiver_micros, waiver_pct } = settings.deadlines
    const bound = Math.max(waiver_micros, Math.floor((row.charged_micros * waiver_pct) / 100))
    if (known.size >= KNOWN_MAX) known.clear()
    known.set(project_id, { left_micros: bound - row.waived_micros, day, at: now })
  }

  return {
    /** Whether so much may still be left today, by what this process last heard. Asks nobody. */
    mayHave(project_id: string, micros: number, now: number): boolean {
      const last = known.get(project_id)
      if (!last || last.day !== dayOf(now) || now - last.at > KNOWN_FOR_MS) return true
      return last.left_micros >= micros
    },

    /** True where it is waived, and counted. */
    async take(project_id: string, micros: number, now: number): Promise<boolean> {
      const day = dayOf(now)
      const { waiver_micros, waiver_pct } = settings.deadlines
      const taken = await db.rows(
        joined(
          sql`UPDATE project SET waived_micros =`,
          waivedOn(day),
          sql`+ ${micros}, waived_day = CASE WHEN waived_day > ${day} THEN waived_day ELSE ${day} END
            WHERE id = ${project_id} AND (`,
          waivedOn(day),
          sql`+ ${micros} <= ${waiver_micros} OR 100 * (`,
          waivedOn(day),
          sql`+ ${micros}) <= ${waiver_pct} *`,
          chargedOn(project_id, now),
          sql`) RETURNING id`,
        ),
      )
      if (taken.length > 0) return true
      await learnLeft(project_id, day, now)
      return false
    },
  }
}

const dayOf = (now: number) => rfc3339(now).slice(0, 10)

/** A replica whose clock is behind counts with the later day: that another's day has begun ends no bound. */
const waivedOn = (day: string): Sql => sql` CASE WHEN waived_day >= ${day} THEN waived_micros ELSE 0 END `

/** As far as it is rolled up, which is some seconds behind: never more than it was. */
const chargedOn = (project_id: string, now: number): Sql => sql` COALESCE((
  SELECT charged_micros FROM usage_rollup WHERE project_id = ${project_id} AND cube = ${TOTAL_BY_DAY}
    AND start_ms = ${now - (now % DAY_MS)} AND key_id = '' AND model = '' AND provider = '' AND profile = ''
    AND cluster_id = ''), 0) `
