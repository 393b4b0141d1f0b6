// Usage at volume: what an insert costs and how long questions take at a thousand events and at ten million.
import { exponent, logarithmsExponent } from './figures.ts'
import { temporaryFolder } from './processes.ts'
import { record } from './report.ts'
import { textTable } from './text-table.ts'
import { BENCH_DAYS, BENCH_KEYS } from './usage-events.ts'
import { type Bytes, bytesOf, type Engine, type Place, usagePlace } from './usage-place.ts'
import { askAll, type Timed } from './usage-questions.ts'
import { housekeepingTimes, measureWrites, type Writes } from './usage-writes.ts'

export interface UsageConditions {
  /** Sizes, apart by commas. */
  events: string
  engine: Engine
  /** Where stores stay for the next run; without it they are gone with this one. */
  folder: string | undefined
  /** Only fill the folder. */
  load_only: boolean
}

interface Measured {
  size: number
  events: number
  load_seconds: number
  bytes: Bytes
  timed: Timed[]
  writes: Writes
}

export async function usage(conditions: UsageConditions): Promise<string> {
  const { engine, load_only } = conditions
  const sizes = conditions.events.split(',').map(Number)
  const folder = conditions.folder ?? temporaryFolder().path
  const measured: Measured[] = []
  for (const size of sizes) {
    const place = await usagePlace(engine, size, folder)
    if (!load_only) measured.push(await measureAt(place))
    await place.close()
  }
  if (load_only) return `loaded: ${sizes.join(', ')} events, ${engine}, in ${folder}`
  record(`Usage at volume, ${engine}`, { days: BENCH_DAYS, keys: BENCH_KEYS, measured })
  return `${tableOf(engine, measured)}\n\n${growthOf(measured)}`
}

async function measureAt(place: Place): Promise<Measured> {
  const { size, events, load_seconds } = place
  const asked = await askAll(place)
  const db = await place.open()
  try {
    const bytes = await bytesOf(db)
    const idle = await housekeepingTimes(db)
    const writes = await measureWrites(db, place.owner)
    place.noteMore(writes.written)
    process.stderr.write(`${size} events measured\n`)
    return { size, events, load_seconds, bytes, timed: [...asked, ...idle], writes }
  } finally {
    await db.close()
  }
}

function tableOf(engine: Engine, measured: readonly Measured[]): string {
  const head = ['', ...measured.map(({ size }) => size.toLocaleString('en'))]
  const line = (name: string, figure: (one: Measured) => string) => [name, ...measured.map(figure)]
  const names = measured[0]?.timed.map(({ name }) => name) ?? []
  const asked = names.map((name, at) =>
    line(`${name}, p50 / p99 ms`, ({ timed }) => `${ms(timed[at]?.p50_ms)} / ${ms(timed[at]?.p99_ms)}`),
  )
  const perEvent = (part: keyof Bytes) => (one: Measured) => (one.bytes[part] / one.events).toFixed(0)
  return textTable(`Usage at volume, ${engine}, ${BENCH_DAYS} days, ${BENCH_KEYS} keys`, head, [
    line('table, bytes an event', perEvent('events')),
    line('indexes, bytes an event', perEvent('indexes')),
    line('roll-ups, bytes an event', perEvent('rollups')),
    line('insert, µs / CPU µs here', ({ writes }) => `${ms(writes.insert_us)} / ${ms(writes.insert_cpu_us)}`),
    line('inserts a second', ({ writes }) => writes.inserts_per_second.toFixed(0)),
    line('rolled up a second', ({ writes }) => writes.rolled_per_second.toFixed(0)),
    line('both at once: inserted / rolled up a second, left', ({ writes: { beside } }) =>
      [beside.inserts_per_second, beside.rolled_per_second, beside.left].map((rate) => rate.toFixed(0)).join(' / '),
    ),
    ...asked,
  ])
}

const ms = (value = 0) => value.toFixed(value < 10 ? 2 : 1)

const TOLERANCE = 0.02 // an exponent this small is within what two runs of the same differ by

const FULL = 100_000 // with fewer events, most combinations of key, model and day have none: that curve is of filling up

/** Each cost's exponent over the sizes, beside that of a logarithm. */
function growthOf(all: readonly Measured[]): string {
  const measured = all.filter(({ size }) => size >= FULL)
  if (measured.length < 2) return 'Growth is told from two sizes of 100,000 events or more.'
  const allowed = logarithmsExponent(measured.map(({ size }) => size))
  const costs: [string, (one: Measured) => number][] = [
    ['insert', ({ writes }) => writes.insert_us],
    ['rolling up', ({ writes }) => 1 / writes.rolled_per_second],
    ...(measured[0]?.timed ?? []).map(({ name }, at): [string, (one: Measured) => number] => [
      name,
      ({ timed }) => timed[at]?.p50_ms ?? 0,
    ]),
  ]
  const grown = costs.map(([name, cost]) => {
    const k = exponent(measured.map((one) => [one.size, cost(one)] as const))
    return `${k > allowed + TOLERANCE ? 'WORSE ' : ''}${name} ${k.toFixed(3)}`
  })
  return `Exponents from 100,000 events on; a logarithm has ${allowed.toFixed(3)}: ${grown.join('; ')}.`
}
