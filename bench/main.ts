// `npm run bench`: ratios to a bare reference in the same run. Machines are noisy; ratios hold, rates do not.
import { parseArgs } from 'node:util'
import { capacity } from './capacity.ts'
import { compare } from './compare.ts'
import { chatStreams, chatWhole } from './gateway.ts'
import { growth } from './growth.ts'
import { cleanUpOnSignals, letGoOfAll, wasInterrupted } from './held.ts'
import { holds } from './holds.ts'
import { latency } from './latency.ts'
import { lists } from './lists.ts'
import type { Conditions } from './measure.ts'
import { messages } from './messages.ts'
import { metricsCost } from './metrics-cost.ts'
import { keepOffTheServersCore } from './processes.ts'
import { profile } from './profile.ts'
import { recordings } from './recordings.ts'
import { replays } from './replays.ts'
import { replicas } from './replicas.ts'
import { circumstances, writeReport } from './report.ts'
import { reuse } from './reuse.ts'
import { routing } from './routing.ts'
import { routingCost } from './routing-cost.ts'
import { soak } from './soak.ts'
import { tracingCost } from './tracing-cost.ts'
import { usage } from './usage.ts'
import { writes } from './writes.ts'

type Scenario = (conditions: Conditions, operands: string[]) => Promise<string>

const SCENARIOS: Record<string, Scenario> = {
  chat: chatWhole,
  streams: chatStreams,
  messages,
  writes,
  replicas,
  recordings,
  holds,
  usage: (_conditions, [word]) =>
    usage({
      events: values.events,
      engine: values.engine === 'postgres' ? 'postgres' : 'sqlite',
      folder: values.folder,
      load_only: word === 'load',
    }),
  lists: () =>
    lists({
      events: values.events,
      engine: values.engine === 'postgres' ? 'postgres' : 'sqlite',
      folder: values.folder,
    }),
  routing: async () =>
    routing({
      trace: values.trace,
      clusters: Number(values.clusters),
      cache_tokens: Number(values['cache-tokens']),
      load: Number(values.load),
      seed: Number(values.seed),
      out: values.out,
    }),
  reuse: () => reuse({ calls: Number(values.calls), seed: Number(values.seed) }),
  replays: (_conditions, [word]) => replays({ items: Number(values.items), has_upstream: word !== 'placeholder' }),
  'routing-cost': async () => routingCost(),
  metrics: async () => metricsCost(),
  tracing: tracingCost,
  capacity: async (_conditions, rates) => capacity(rates.length > 0 ? rates.map(Number) : undefined),
  latency,
  compare,
  growth,
  soak,
  profile,
}
const USUAL = ['chat', 'streams', 'writes']

const OPTIONS = {
  rounds: { type: 'string', default: '5' },
  seconds: { type: 'string', default: '3' },
  connections: { type: 'string', default: '64' },
  'warm-seconds': { type: 'string', default: '20' },
  minutes: { type: 'string', default: '10' },
  events: { type: 'string', default: '1000000' },
  engine: { type: 'string', default: 'sqlite' },
  folder: { type: 'string' },
  calls: { type: 'string', default: '2000' },
  items: { type: 'string', default: '1000' },
  trace: { type: 'string' },
  clusters: { type: 'string', default: '4' },
  'cache-tokens': { type: 'string', default: '4096000' },
  load: { type: 'string', default: '0.9' },
  seed: { type: 'string', default: '1' },
  out: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const

const { values, positionals } = given()
const conditions: Conditions = {
  rounds: Number(values.rounds),
  seconds: Number(values.seconds),
  connections: Number(values.connections),
  warm_seconds: Number(values['warm-seconds']),
  minutes: Number(values.minutes),
}
// Several scenarios may be named; every other word is for them: a revision, a kind of profile, part of a name.
const named = positionals.filter((name) => name in SCENARIOS)
const operands = positionals.filter((name) => !(name in SCENARIOS))

if (values.help) {
  process.stdout.write(help())
  process.exit(0)
}
cleanUpOnSignals()
if (operands[0] !== 'load') keepOffTheServersCore() // loading has no server beside it
try {
  if (positionals.length > 0 && named.length === 0)
    throw new Error(`no scenario '${positionals[0]}'; there are: ${Object.keys(SCENARIOS).join(', ')}`)
  process.stdout.write(`${circumstances()}\n`)
  for (const name of named.length > 0 ? named : USUAL)
    process.stdout.write(`${await SCENARIOS[name]?.(conditions, operands)}\n`)
  const report = writeReport(process.argv.slice(2))
  if (report) process.stdout.write(`\nThe whole report: ${report}\n`)
} catch (error) {
  if (!wasInterrupted()) process.stderr.write(`bench: ${(error as Error).stack ?? String(error)}\n`)
  process.exitCode = 1
}
await letGoOfAll()
process.exit(wasInterrupted() ? 130 : process.exitCode)

function given() {
  try {
    return parseArgs({ allowPositionals: true, options: OPTIONS })
  } catch (error) {
    process.stderr.write(`bench: ${(error as Error).message}\n\n${help()}`)
    process.exit(2)
  }
}

function help(): string {
  const options = Object.entries(OPTIONS).map(([name, one]) => `--${name}${'default' in one ? ` ${one.default}` : ''}`)
  return `npm run bench -- [scenario...] [options]

Scenarios, ${USUAL.join(', ')} unless some are named: ${Object.keys(SCENARIOS).join(', ')}.
Options, with what they are where nobody says: ${options.join(', ')}.
docs/PERFORMANCE.md says what each measures.
`
}
