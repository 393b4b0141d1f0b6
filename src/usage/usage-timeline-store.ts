// §8.2.3: usage by steps of time, out of roll-ups over long ranges, and exactly out of events over short ones.
import { lanes } from '../core/lanes.ts'
import { inTurns, nextTurn } from '../core/turns.ts'
import { type Db, fixed, joined, type Sql, sql } from '../storage/db.ts'
import { bucketSql } from './latency-histogram.ts'
import { RankedValues } from './ranked-values.ts'
import { eventsWhere, within } from './usage-filter-store.ts'
import { inOwnLane, usageList } from './usage-list-store.ts'
import { filteredBy } from './usage-query.ts'
import { AMOUNTS, type Amounts, cubeWith, noSpread } from './usage-rollup.ts'
import { answered, type Reading } from './usage-sums-store.ts'
import {
  type ExactPercentiles,
  fillSteps,
  type Percentiles,
  type StepPart,
  stepOf,
  type Timeline,
  type TimelineQuestion,
} from './usage-timeline.ts'

/** R78: each holds the times of a step, and of all of them, while it is read. */
const inLane = lanes({ at_once: 4, waiting_max: 200 })

export function usageTimeline(db: Db) {
  async function outOfRollups(project_id: string, question: TimelineQuestion): Promise<Timeline> {
    const { filter, step } = question
    const cube = cubeWith(filteredBy(filter))
    const grains = cube.grains.filter((grain) => step === 'day' || grain === 'hour' || grain === 'minutes')
    const asked = { project_id, filter, cube, grains }
    const parts = await answered<ToldRow>(inOwnLane(db, project_id), readingBy(question.step_ms), asked, { told })
    return inTurns(fillSteps(question, parts.flat(), partFrom))
  }

  /** In parts that one statement may read: there may be millions of events. */
  async function outOfEvents(project_id: string, question: TimelineQuestion): Promise<Timeline> {
    const { filter, step_ms } = question
    const own = inOwnLane(db, project_id)
    const named = joined(eventsWhere(project_id, filter), within(filter.from_ms, filter.to_ms))
    const parts = filter.trace_id === null ? usageList(own, project_id, filter).windows() : [named]
    const sums: SumRow[] = []
    const times = new StepTimes(step_ms)
    for await (const events of parts) {
      sums.push(...(await own.rows<SumRow>(sumsOf(events, step_ms))))
      times.add(await own.rows<TimedRow>(timesOf(events)))
      await nextTurn()
    }
    return inTurns(fillSteps(question, sums, sumFrom, times.told()))
  }

  return {
    steps: (project_id: string, question: TimelineQuestion): Promise<Timeline> =>
      question.source === 'rollups'
        ? outOfRollups(project_id, question)
        : inLane(project_id, () => outOfEvents(project_id, question)),
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

interface TimedRow {
  time_ms: number
  duration_ms: number
  ttft_ms: number | null
}

const timesOf = (events: Sql): Sql =>
  joined(sql`SELECT e.created_ms AS time_ms, e.duration_ms, e.ttft_ms FROM usage_event e WHERE `, events)

/** How long the calls of a step took. */
class Times {
  readonly #duration = new RankedValues()
  readonly #ttft = new RankedValues()

  add({ duration_ms, ttft_ms }: TimedRow): void {
    this.#duration.add(duration_ms)
    if (ttft_ms !== null) this.#ttft.add(ttft_ms)
  }

  told(): Percentiles {
    const [duration_p50_ms = null, duration_p95_ms = null] = this.#duration.percentiles(PERCENTS)
    const [ttft_p50_ms = null, ttft_p95_ms = null] = this.#ttft.percentiles(PERCENTS)
    return { duration_p50_ms, duration_p95_ms, ttft_p50_ms, ttft_p95_ms }
  }
}

const PERCENTS = [50, 95]

/** Step by step, the newest first: of one that is over nothing but its percentiles is held. */
class StepTimes {
  readonly #by_step = new Map<number, Percentiles>()
  readonly #all = new Times()
  readonly #step_ms: number
  #open = new Map<number, Times>()

  constructor(step_ms: number) {
    this.#step_ms = step_ms
  }

  /** All that follow are older. */
  add(rows: readonly TimedRow[]): void {
    let oldest = Number.POSITIVE_INFINITY
    for (const row of rows) {
      const step = stepOf(row.time_ms, this.#step_ms)
      const times = this.#open.get(step) ?? new Times()
      this.#open.set(step, times)
      times.add(row)
      this.#all.add(row)
      oldest = Math.min(oldest, step)
    }
    for (const [step, times] of this.#open) if (step > oldest) this.#close(step, times)
  }

  #close(step: number, times: Times): void {
    this.#by_step.set(step, times.told())
    this.#open.delete(step)
  }

  told(): ExactPercentiles {
    for (const [step, times] of this.#open) this.#close(step, times)
    return { by_step: this.#by_step, overall: this.#all.told() }
  }
}
