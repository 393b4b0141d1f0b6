// `npm run bench`: ratios to a bare reference in the same run. Machines are noisy; ratios hold, rates do not.
import { parseArgs } from 'node:util'
import type { Conditions } from './measure.ts'
import { proxyStreams, proxyWhole } from './proxy.ts'
import { replicas } from './replicas.ts'
import { usage } from './usage.ts'
import { writes } from './writes.ts'

const SCENARIOS: Record<string, (conditions: Conditions) => Promise<string>> = {
  writes,
  chat: proxyWhole,
  streams: proxyStreams,
  replicas,
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '32' },
    events: { type: 'string', default: '1000000' },
    engine: { type: 'string', default: 'sqlite' },
  },
})
const conditions: Conditions = {
  rounds: Number(values.rounds),
  seconds: Number(values.seconds),
  connections: Number(values.connections),
}
/** Takes long and measures no server, so it runs only when it is named. */
const named: typeof SCENARIOS = {
  usage: () => usage({ events: Number(values.events), engine: values.engine === 'postgres' ? 'postgres' : 'sqlite' }),
}
const wanted = positionals.length > 0 ? positionals : Object.keys(SCENARIOS)
for (const name of wanted) {
  const scenario = SCENARIOS[name] ?? named[name]
  if (!scenario)
    throw new Error(
      `no scenario '${name}'; there are: ${[...Object.keys(SCENARIOS), ...Object.keys(named)].join(', ')}`,
    )
  process.stdout.write(`${await scenario(conditions)}\n`)
}
