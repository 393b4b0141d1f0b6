// `npm run torture`: tries to make the service lose, repeat, forget or leak something, and says what it found.
import { readFileSync, writeFileSync } from 'node:fs'
import { Command, InvalidArgumentError, Option } from 'commander'
import { ATTACKS } from './attacks/all-attacks.ts'
import { budget } from './budget.ts'
import { disconnect, IN_FLIGHT } from './disconnect.ts'
import { events } from './events.ts'
import { beside, type Hostile, harmsOf, hostile, ROUNDS } from './hostile.ts'
import { kill9 } from './kill9.ts'
import { money } from './money.ts'
import { PLANTS, type Plant } from './plants.ts'
import { providers } from './providers.ts'
import { race } from './race.ts'
import { newSeed } from './randomness.ts'
import { redis } from './redis-run.ts'
import { replays } from './replays.ts'
import { postmaster } from './replica-postmaster.ts'
import { REDIS_STATES, type RedisState, revoke } from './replica-revoke.ts'
import { rolling } from './replica-rolling.ts'
import { isClean, type Report, table } from './report.ts'
import { ENGINES, type Engine } from './scene.ts'
import { secrets } from './secrets.ts'
import { streams } from './streams.ts'
import { PLANTS as UPSTREAM_PLANTS, type UpstreamPlant, upstreams } from './upstreams.ts'

const say = (text: string) => void process.stdout.write(`${text}\n`)

interface Common {
  engine: Engine
  seed: number
  plant?: Plant
}

interface Replicated {
  seed: number
  plant?: Plant
}

interface RollingOptions {
  restarts: number
  perSecond: number
  streams: number
  apart: number
  rising: number
}

interface ProviderOptions {
  cycles: number
  perSecond: number
  streams: number
  projects: number
  within: number
}

interface RevokeOptions {
  engine: Engine
  revocations: number
  perSecond: number
  redis?: RedisState
}

interface RedisOptions {
  pauseS: number
  perSecond: number
  seed: number
  cluster?: boolean
  plant?: 'alone'
}

interface HostileOptions {
  engine: Engine
  attack?: Hostile['attacks']
  seconds: number
  server?: string
  save?: string
  beside?: string
  seed: number
}

const program = new Command('torture')
  .usage('<run> [options]')
  .description('Tries to make the service lose, repeat, forget or leak something, and says what it found.')
  .addHelpText('after', '\nExit code: 0 nothing found, 1 something found, 2 a planted bug was not found.')

const seed = () => new Option('--seed <n>', 'repeats the choices of an earlier run').default(newSeed()).argParser(whole)

function run(name: string, description: string, plants: readonly Plant[]): Command {
  return program
    .command(name)
    .description(description)
    .addOption(new Option('--engine <name>', 'which store').choices(ENGINES).default('sqlite'))
    .addOption(new Option('--plant <bug>', 'puts a known bug into the store').choices(plants))
    .addOption(seed())
}

run('kill9', 'Kills the server with SIGKILL under traffic, again and again; clients retry with the same keys.', [
  'non-atomic',
])
  .option('--cycles <n>', 'kills', whole, 60)
  .option('--in-flight <n>', 'requests at any time', whole, 32)
  .action(async ({ inFlight, ...options }: Common & { cycles: number; inFlight: number }) => {
    conclude(await kill9({ ...options, in_flight: inFlight, note: progress }), options)
  })

run('replays', 'Kills the server in the middle of a replay run: each item is asked and charged once.', [])
  .option('--items <n>', 'recorded calls that are asked again', whole, 1_000)
  .option('--kills <n>', 'kills', whole, 20)
  .action(async (options: Common & { items: number; kills: number }) => {
    conclude(await replays({ ...options, note: progress }), options)
  })

run('race', 'Sends identical keyed requests all at once: one may execute.', ['check-then-act'])
  .option('--triples <n>', 'different requests', whole, 2_000)
  .option('--at-once <n>', 'copies of each, sent together', whole, 16)
  .option('--replicas <n>', 'servers to spread the copies over (PostgreSQL only)', whole, 1)
  .action(async ({ atOnce, ...options }: Common & { triples: number; atOnce: number; replicas: number }) => {
    conclude(await race({ ...options, at_once: atOnce }), options)
  })

run('budget', 'Sends more calls at once than a key can pay for: no more than it can pay for may be served.', [])
  .option('--calls <n>', 'calls', whole, 10_000)
  .option('--at-once <n>', 'calls at any time', whole, 1_000)
  .option('--replicas <n>', 'servers to spread the calls over (PostgreSQL only)', whole, 1)
  .action(async ({ atOnce, ...options }: Common & { calls: number; atOnce: number; replicas: number }) => {
    conclude(await budget({ ...options, at_once: atOnce }), options)
  })

run('money', 'Clients leave, upstreams break, deadlines pass, the server is killed: the books must balance.', [
  'hold-kept',
  'charged-again',
  'orphans-stay',
])
  .option('--calls <n>', 'generations asked for', whole, 5_000)
  .option('--kills <n>', 'kills, spread over the run', whole, 200)
  .option('--in-flight <n>', 'generations at any time', whole, 24)
  .action(async ({ inFlight, ...options }: Common & { calls: number; kills: number; inFlight: number }) => {
    conclude(await money({ ...options, in_flight: inFlight, patient: !options.plant, note: progress }), options)
  })

run('streams', 'Clients leave their streams at a random byte: nothing of them may stay open.', [
  'deaf',
  'upstream-kept',
])
  .option('--streams <n>', 'streams to be left', whole, 10_000)
  .option('--in-flight <n>', 'streams at any time', whole, 32)
  .action(async ({ inFlight, ...options }: Common & { streams: number; inFlight: number }) => {
    conclude(await streams({ ...options, in_flight: inFlight, note: progress }), options)
  })

run('disconnect', 'Clients leave at a random moment of their request, then ask again with the same key.', [
  'abort-bound',
  'leaked-hold',
])
  .option('--requests <n>', 'requests to be cut off', whole, 5_000)
  .option('--in-flight <n>', 'requests at any time', whole, IN_FLIGHT)
  .action(async ({ inFlight, ...options }: Common & { requests: number; inFlight: number }) => {
    conclude(await disconnect({ ...options, in_flight: inFlight }), options)
  })

run('events', 'Kills servers while events go to a receiver that fails, stalls and restarts: each is told, in order.', [
  'told-later',
  'overtaking',
])
  .option('--events <n>', 'events', whole, 100_000)
  .option('--kills <n>', 'kills, spread over the run', whole, 20)
  .option('--clusters <n>', 'subjects that they happen to', whole, 100)
  .action(async (options: Common & { events: number; kills: number; clusters: number }) => {
    conclude(await events({ ...options, note: progress }), options)
  })

function runReplicas(name: string, description: string, plants: readonly Plant[]): Command {
  return program
    .command(name)
    .description(description)
    .addOption(new Option('--plant <bug>', 'puts a known bug into the servers').choices(plants))
    .addOption(seed())
}

runReplicas('providers', 'Adds, changes, drains and removes a provider under load on three servers: no call fails.', [
  'deaf-to-providers',
  'swap-closes',
])
  .option('--cycles <n>', 'how often', whole, 20)
  .option('--per-second <n>', 'calls a second', whole, 200)
  .option('--streams <n>', 'open streams', whole, 20)
  .option('--projects <n>', 'whose calls they are', whole, 24)
  .option('--within <ms>', 'in which every server must know of a change', whole, 1_000)
  .action(async ({ perSecond, within, ...options }: Replicated & ProviderOptions) => {
    conclude(await providers({ ...options, per_second: perSecond, within_ms: within, note: progress }), options)
  })

runReplicas('revoke', 'Revokes keys under load on three servers: none may be accepted after the answer.', [
  'auth-cache',
  'silent-changes',
])
  .addOption(new Option('--engine <name>', 'which store; one server on SQLite').choices(ENGINES).default('postgres'))
  .option('--revocations <n>', 'keys to revoke', whole, 2_000)
  .option('--per-second <n>', 'further requests a second', whole, 500)
  .addOption(new Option('--redis <state>', 'with a Redis that is so meanwhile').choices(REDIS_STATES))
  .action(async ({ perSecond, ...options }: Replicated & RevokeOptions) => {
    conclude(await revoke({ ...options, per_second: perSecond, note: progress }), options)
  })

runReplicas('postmaster', 'Kills PostgreSQL under traffic on three servers; clients retry with the same keys.', [
  'non-atomic',
])
  .option('--kills <n>', 'kills, every second one an immediate shutdown', whole, 20)
  .option('--in-flight <n>', 'requests at any time', whole, 32)
  .action(async ({ inFlight, ...options }: Replicated & { kills: number; inFlight: number }) => {
    conclude(await postmaster({ ...options, in_flight: inFlight, note: progress }), options)
  })

runReplicas('rolling', 'Restarts three servers behind a balancer, one after the other, under load and open streams.', [
  'abrupt-stop',
])
  .option('--restarts <n>', 'restarts', whole, 50)
  .option('--per-second <n>', 'requests a second', whole, 500)
  .option('--streams <n>', 'streams open at any time', whole, 50)
  .option('--apart <s>', 'how long a new server works before the next one stops, as minReadySeconds', whole, 5)
  .option('--rising <s>', 'over how long the load comes to its rate, before the first one stops', whole, 30)
  .action(async ({ perSecond, apart, rising, ...options }: Replicated & RollingOptions) => {
    const pace = { per_second: perSecond, apart_ms: apart * 1_000, rising_ms: rising * 1_000 }
    conclude(await rolling({ ...options, ...pace, note: progress }), options)
  })

program
  .command('redis')
  .description(
    'Pauses, kills and flushes Redis under three servers and load: nobody may notice, and no limit may be passed.',
  )
  .addOption(new Option('--plant <bug>', 'servers that count for themselves').choices(['alone']))
  .option('--cluster', 'a Redis Cluster of three nodes')
  .option('--pause-s <n>', 'how long Redis is stopped', whole, 60)
  .option('--per-second <n>', 'requests a second', whole, 300)
  .addOption(seed())
  .action(async ({ pauseS, perSecond, ...options }: RedisOptions) => {
    conclude(await redis({ ...options, pause_s: pauseS, per_second: perSecond, measure: true }), options)
  })

program
  .command('hostile')
  .description('Runs every attack of a hostile tenant beside a victim: it must gain nothing and disturb nobody.')
  .addOption(
    new Option('--engine <name>', 'which store; three servers on PostgreSQL').choices(ENGINES).default('sqlite'),
  )
  .addOption(new Option('--attack <name...>', 'only these, one after the other; together: all at once').choices(ROUNDS))
  .option('--seconds <n>', 'how long each attack lasts, and the quiet run before it', whole, 15)
  .option('--server <folder>', 'the `dist` of another build, to see what its guards are worth')
  .option('--save <file>', 'writes what each attack did')
  .option('--beside <file>', 'lays what another run saved beside this one')
  .addOption(seed())
  .action(async ({ attack, server, save, beside: other, ...options }: HostileOptions) => {
    const judged = await hostile({
      ...options,
      attacks: attack,
      built: server,
      measure: true,
      note: progress,
      onTried: (line) => void process.stderr.write(`${line}\n`),
    })
    conclude(judged)
    if (save) writeFileSync(save, JSON.stringify(harmsOf(judged.tried), null, 2))
    if (other) say(`\n${beside(harmsOf(judged.tried), JSON.parse(readFileSync(other, 'utf8')))}`)
  })

program
  .command('secrets')
  .description('Searches the embedded store, its write-ahead log and a log at level trace for any piece of a secret.')
  .option('--keys <n>', 'keys to create and use', whole, 10_000)
  .addOption(seed())
  .action(async (options: { keys: number; seed: number }) => conclude(await secrets(options)))

program
  .command('upstreams')
  .description('Reads hostile answers of upstreams, whole and streamed: no crash, no absurd count, no long turn.')
  .addOption(new Option('--plant <bug>', 'a reader with a known bug').choices(Object.keys(UPSTREAM_PLANTS)))
  .option('--answers <n>', 'answers to read', whole, 1_000_000)
  .addOption(seed())
  .action(async (options: { answers: number; seed: number; plant?: UpstreamPlant }) => {
    conclude(await upstreams({ ...options, note: progress }), options)
  })

program
  .command('list')
  .description('Says what there is to run, and which bugs can be planted.')
  .action(() => {
    say('Runs:')
    for (const command of program.commands) say(`  ${command.name().padEnd(16)}${command.description()}`)
    say('Attacks of hostile:')
    for (const [name, { does, guard }] of Object.entries(ATTACKS)) say(`  ${name.padEnd(16)}${does} ${guard}.`)
    say('Bugs to plant with --plant:')
    for (const [name, { meaning }] of Object.entries(PLANTS)) say(`  ${name.padEnd(16)}${meaning}`)
  })

function whole(text: string): number {
  const value = /^\d+$/.test(text) ? Number(text) : 0
  if (!Number.isSafeInteger(value) || value < 1) throw new InvalidArgumentError('It must be a whole number above 0.')
  return value
}

function progress(text: string): void {
  if (process.stdout.isTTY) process.stdout.write(`\r${text}\u001b[K`)
}

function conclude(report: Report, { plant }: { plant?: Plant | UpstreamPlant | 'alone' } = {}): void {
  progress('')
  say(table(report))
  process.exitCode = isClean(report) ? 0 : 1
  if (!plant) return
  say(
    isClean(report)
      ? `The planted ${plant} was NOT caught: this run proves nothing.`
      : `The planted ${plant} was caught.`,
  )
  if (isClean(report)) process.exitCode = 2
}

program.parseAsync().catch((error: Error) => {
  process.stderr.write(`torture: ${error.stack}\n`)
  process.exitCode = 1
})
