// `npm run bench`: ratios to a bare reference in the same run. Machines are noisy; ratios hold, rates do not.
import { Command, Option } from 'commander'
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
  usage: (_conditions, [word]) => {
    const { events, engine, folder } = values
    return usage({ events, engine, folder, load_only: word === 'load' })
  },
  lists: () => {
    const { events, engine, folder } = values
    return lists({ events, engine, folder })
  },
  routing: async () => {
    const { trace, clusters, cacheTokens: cache_tokens, load, seed, out } = values
    return routing({ trace, clusters, cache_tokens, load, seed, out })
  },
  reuse: () => reuse({ calls: values.calls, seed: values.seed }),
  replays: (_conditions, [word]) => replays({ items: values.items, has_upstream: word !== 'placeholder' }),
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

interface Options {
  rounds: number
  seconds: number
  connections: number
  warmSeconds: number
  minutes: number
  events: string
  engine: 'sqlite' | 'postgres'
  folder?: string
  calls: number
  items: number
  trace?: string
  clusters: number
  cacheTokens: number
  load: number
  seed: number
  out?: string
}

const program = new Command('npm run bench --')
  .usage('[scenario...] [word...] [options]')
  .description('Measures what the service costs beside a bare reference in the same run.')
  .argument('[words...]', `scenarios, ${USUAL.join(', ')} if none is named; every other word is for them`)
  .option('--rounds <n>', 'rounds of a comparison', Number, 5)
  .option('--seconds <n>', 'how long a contender is measured in a round', Number, 3)
  .option('--connections <n>', 'connections of the load', Number, 64)
  .option('--warm-seconds <n>', 'how long a contender may be warmed up', Number, 20)
  .option('--minutes <n>', 'how long a soak lasts', Number, 10)
  .option('--events <n,...>', 'usage events there are', '1000000')
  .addOption(
    new Option('--engine <name>', 'the store of usage and lists').choices(['sqlite', 'postgres']).default('sqlite'),
  )
  .option('--folder <path>', 'keeps the store of usage and lists')
  .option('--calls <n>', 'calls of reuse', Number, 2_000)
  .option('--items <n>', 'items of a replay run', Number, 1_000)
  .option('--trace <file>', 'requests for routing')
  .option('--clusters <n>', 'clusters of routing', Number, 4)
  .option('--cache-tokens <n>', 'tokens that they keep', Number, 4_096_000)
  .option('--load <share>', 'of what they could read', Number, 0.9)
  .option('--seed <n>', 'repeats the choices of an earlier run', Number, 1)
  .option('--out <file>', 'where routing writes each of its decisions')
  .addHelpText(
    'after',
    `\nScenarios: ${Object.keys(SCENARIOS).join(', ')}. docs/PERFORMANCE.md says what each measures.`,
  )
  .parse()
const positionals = program.args
const values = program.opts<Options>()
const { rounds, seconds, connections, warmSeconds: warm_seconds, minutes } = values
const conditions: Conditions = { rounds, seconds, connections, warm_seconds, minutes }
// Several scenarios may be named; every other word is for them: a revision, a kind of profile, part of a name.
const named = positionals.filter((name) => name in SCENARIOS)
const operands = positionals.filter((name) => !(name in SCENARIOS))

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
