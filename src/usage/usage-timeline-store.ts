// §8.2.3: usage by steps of time, out of roll-ups over long ranges, and exactly out of events over short ones.
import { inTurns } from '../core/turns.ts'
import { type Db, fixed, joined, type Sql, sql } from '../storage/db.ts'
import { bucketSql } from './latency-histogram.ts'
import { filteredBy } from './usage-query.ts'
import { AMOUNTS, type Amounts, cubeWith, noSpread } from './usage-rollup.ts'
import { answered, eventsWhere, type Reading, within } from './usage-sums-store.ts'
import { fillSteps, type Percentiles, type StepPart, type Timeline, type TimelineQuestion } from './usage-timeline.ts'

/** A step that every time lies in, and that begins at 0. */
const ONE_STEP_MS = Number.MAX_SAFE_INTEGER
const NO_PERCENTILES: Percentiles = {
  duration_p50_ms: null,
  duration_p95_ms: null,
  ttft_p50_ms: null,
  ttft_p95_ms: null,
}

export function usageTimeline(db: Db) {
  async function outOfRollups(project_id: string, question: TimelineQuestion): Promise<Timeline> {
    const { filter, step } = question
    const cube = cubeWith(filteredBy(filter))
    const grains = cube.grains.filter((grain) => step === 'day' || grain === 'hour' || grain === 'minutes')
    const rows = await answered<ToldRow>(db, readingBy(question.step_ms), { project_id, filter, cube, grains }, told)
    return inTurns(fillSteps(question, rows, partFrom))
  }

  async function outOfEvents(project_id: string, question: TimelineQuestion): Promise<Timeline> {
    const { filter, step_ms } = question
    const events = joined(eventsWhere(project_id, filter), within(filter.from_ms, filter.to_ms))
    const sums = await db.rows<SumRow>(sumsOf(events, step_ms))
    const by_step = percentilesFrom(await db.rows<RankRow>(ranksOf(events, step_ms)))
    const all = percentilesFrom(await db.rows<RankRow>(ranksOf(events, ONE_STEP_MS)))
    return inTurns(fillSteps(question, sums, sumFrom, { by_step, overall: all.get(0) ?? NO_PERCENTILES }))
  }

  return {
    steps: (project_id: string, question: TimelineQuestion): Promise<Timeline> =>
      question.source === 'rollups' ? outOfRollups(project_id, question) : outOfEvents(project_id, question),
  }
}

/** Of a roll-up there is a spread; of an event, what goes into one. */
const readingBy = (step_ms: number): Reading => ({
  rollup: fixed(
    `start_ms AS time_ms, events, ${AMOUNTS.join(', ')}, spread, '' AS status, 0 AS duration_ms, 0 AS ttft_ms`,
  ),
  event: fixed(
    `e.created_ms - e.created_ms % ${step_ms} AS time_ms, 1 AS events, ` +
      `${AMOUNTS.map((name) => `e.${name}`).join(', ')}, NULL AS spread, e.status, e.duration_ms, e.ttft_ms`,
  ),
})

/** A roll-up with its spread; or the sums of a step's events by status; or how many of them are in a bucket. */
type ToldRow = Amounts & {
  time_ms: number
  events: number
  spread: string | null
  status: string
  histogram: '' | 'duration' | 'ttft'
  bucket: number
}

const summed = (prefix = '') => AMOUNTS.map((name) => `CAST(SUM(${prefix}${name}) AS BIGINT) AS ${name}`).join(', ')

const bucketsOf = (histogram: 'duration' | 'ttft') =>
  fixed(`
    UNION ALL SELECT time_ms, COUNT(*) AS events, ${AMOUNTS.map((name) => `0 AS ${name}`).join(', ')},
      NULL AS spread, '' AS status, '${histogram}' AS histogram, ${bucketSql(`${histogram}_ms`)} AS bucket
    FROM part WHERE spread IS NULL AND ${histogram}_ms IS NOT NULL GROUP BY time_ms, bucket`)

/** Thousands of events may lie at the two ends of a range. They are added up where they are, not row by row here. */
const told = (parts: Sql): Sql =>
  joined(
    sql`SELECT * FROM (WITH part AS (`,
    parts,
    fixed(`)
      SELECT time_ms, events, ${AMOUNTS.join(', ')}, spread, status, '' AS histogram, 0 AS bucket
      FROM part WHERE spread IS NOT NULL
      UNION ALL SELECT time_ms, COUNT(*) AS events, ${summed()}, NULL AS spread, status, '' AS histogram, 0 AS bucket
      FROM part WHERE spread IS NULL GROUP BY time_ms, status`),
    bucketsOf('duration'),
    bucketsOf('ttft'),
    sql`) AS told`,
  )

function partFrom(row: ToldRow): StepPart {
  if (row.spread !== null) return { ...row, spread: JSON.parse(row.spread) }
  if (row.histogram === '') return { ...row, spread: { ...noSpread(), status: { [row.status]: row.events } } }
  return { ...row, events: 0, spread: { ...noSpread(), [row.histogram]: { [row.bucket]: row.events } } }
}

type SumRow = Amounts & { time_ms: number; status: string; events: number }

const sumsOf = (events: Sql, step_ms: number): Sql =>
  joined(
    sql`SELECT e.created_ms - e.created_ms % CAST(${step_ms} AS BIGINT) AS time_ms, e.status, COUNT(*) AS events, `,
    fixed(summed('e.')),
    sql` FROM usage_event e WHERE `,
    events,
    sql` GROUP BY 1, 2`,
  )

const sumFrom = (row: SumRow): StepPart => ({
  ...row,
  spread: { ...noSpread(), status: { [row.status]: row.events } },
})

interface RankRow {
  kind: 'duration' | 'ttft'
  time_ms: number
  p50: number
  p95: number
}

/** Nearest rank: the smallest value that at least so many percent of the values do not exceed. */
function ranksOf(events: Sql, step_ms: number): Sql {
  const ranked = (kind: Sql, value: Sql) =>
    joined(
      sql`SELECT `,
      kind,
      sql` AS kind, e.created_ms - e.created_ms % CAST(${step_ms} AS BIGINT) AS time_ms, `,
      value,
      sql` AS value FROM usage_event e WHERE `,
      events,
      sql` AND `,
      value,
      sql` IS NOT NULL`,
    )
  return joined(
    sql`SELECT kind, time_ms, MIN(CASE WHEN place >= (total * 50 + 99) / 100 THEN value END) AS p50,
          MIN(CASE WHEN place >= (total * 95 + 99) / 100 THEN value END) AS p95
        FROM (SELECT kind, time_ms, value, ROW_NUMBER() OVER (PARTITION BY kind, time_ms ORDER BY value) AS place,
                COUNT(*) OVER (PARTITION BY kind, time_ms) AS total
              FROM (`,
    ranked(sql`'duration'`, sql`e.duration_ms`),
    sql` UNION ALL `,
    ranked(sql`'ttft'`, sql`e.ttft_ms`),
    sql`) AS taken) AS ranked GROUP BY kind, time_ms`,
  )
}

function percentilesFrom(rows: readonly RankRow[]): Map<number, Percentiles> {
  const steps = new Map<number, Percentiles>()
  for (const { kind, time_ms, p50, p95 } of rows)
    steps.set(time_ms, { ...NO_PERCENTILES, ...steps.get(time_ms), [`${kind}_p50_ms`]: p50, [`${kind}_p95_ms`]: p95 })
  return steps
}
