// What a request waits for us: 200 requests a second, due at fixed moments whatever became of those before, and each
// timed from when it was due. The load has a core to itself; upstream and server share the other, which is nearly idle.
import { median, type Spread, spread } from './figures.ts'
import type { LoadResult } from './load-plan.ts'
import { theLoad } from './load-process.ts'
import type { Conditions, Contender } from './measure.ts'
import { SERVER_CORE } from './processes.ts'
import { record } from './report.ts'
import { ADMIN_KEY, as, CHAT, chat, limitedKey, startService } from './service-under-test.ts'
import { textTable } from './text-table.ts'
import { startBareProxy, startUpstream } from './upstream-side.ts'
import { warmUp } from './warm-up.ts'

const PER_SECOND = 200
const CONNECTIONS = 16
const STREAM_CHUNKS = '5' // few, so that a stream is over soon and what is timed is its beginning

const STREAM = chat({ stream: true })

export async function latency(conditions: Conditions): Promise<string> {
  const upstream = await startUpstream({ CHUNKS: STREAM_CHUNKS, FIRST_AT_ONCE: '1' }, SERVER_CORE)
  const sockets = await startBareProxy(upstream, 'sockets')
  const plain = await startBareProxy(upstream, 'plain')
  const bare = await startBareProxy(upstream, 'node:http')
  const ours = await startService({ name: 'switchyard', upstream })
  const limited = await limitedKey(ours)
  const servers = [
    { name: 'direct', server: upstream, key: ADMIN_KEY },
    { name: 'bare sockets, bytes unread', server: sockets, key: ADMIN_KEY },
    { name: 'bare node:http + plain sockets', server: plain, key: ADMIN_KEY },
    { name: 'bare node:http + undici dispatch', server: bare, key: ADMIN_KEY },
    { name: 'switchyard, live', server: ours, key: ADMIN_KEY },
    { name: 'switchyard, live, a hold for each call', server: ours, key: limited },
  ]
  const asking = (body: string): Contender[] =>
    servers.map(({ name, server, key }) => ({ name, server, plan: { path: CHAT, headers: as(key), body } }))
  const whole = await timed(asking(chat()), conditions, ({ p50_ms, p99_ms }) => ({ p50_ms, p99_ms }))
  const firsts = await timed(asking(STREAM), conditions, ({ first_p50_ms, first_p99_ms }) => ({
    p50_ms: first_p50_ms,
    p99_ms: first_p99_ms,
  }))
  await Promise.all([upstream, sockets, plain, bare, ours].map((server) => server.stop()))
  record('Latency', { conditions, per_second: PER_SECOND, whole, firsts })
  const how = `${PER_SECOND} requests a second, open loop, ${conditions.rounds} rounds of ${conditions.seconds} s`
  return [
    latencyTable(`Whole answers, ${how}`, whole),
    latencyTable(`Streams, time to the first token, ${how}`, firsts),
  ].join('\n')
}

interface Timing {
  p50_ms: number
  p99_ms: number
}

interface Timed {
  name: string
  rounds: (Timing & { late_p99_ms: number; failures: number; waited: number })[]
}

async function timed(
  contenders: readonly Contender[],
  conditions: Conditions,
  of: (result: LoadResult) => Timing,
): Promise<Timed[]> {
  const found: Timed[] = contenders.map(({ name }) => ({ name, rounds: [] }))
  // Compiled code is asked for here as well, so each is warmed under full load before it is timed.
  for (const contender of contenders)
    await warmUp({ ...contender, warm_requests: 10_000 }, { ...conditions, connections: CONNECTIONS })
  for (let round = 0; round < conditions.rounds; round++)
    for (const [index, { server, plan }] of contenders.entries()) {
      const port = Number(new URL(server.url).port)
      const [before, started] = [server.times(), performance.now()]
      const result = await theLoad().run({
        ...plan,
        port,
        connections: CONNECTIONS,
        seconds: conditions.seconds,
        per_second: PER_SECOND,
      })
      const waited = (server.times().waited_us - before.waited_us) / 1_000 / (performance.now() - started)
      const { late_p99_ms, failures } = result
      found[index]?.rounds.push({ ...of(result), late_p99_ms, failures, waited })
    }
  return found
}

function latencyTable(title: string, found: readonly Timed[]): string {
  const [direct] = found
  const rows = found.map(({ name, rounds }) => {
    const added = (of: keyof Timing): Spread =>
      spread(rounds.map((round, at) => round[of] - (direct?.rounds[at]?.[of] ?? 0)))
    const told = ({ p20, median: middle, p80 }: Spread) =>
      name === 'direct' ? '' : `${middle.toFixed(2)} (${p20.toFixed(2)}–${p80.toFixed(2)})`
    return [
      name,
      median(rounds.map((round) => round.p50_ms)).toFixed(2),
      median(rounds.map((round) => round.p99_ms)).toFixed(2),
      told(added('p50_ms')),
      told(added('p99_ms')),
      median(rounds.map((round) => round.late_p99_ms)).toFixed(2),
      `${(median(rounds.map((round) => round.waited)) * 100).toFixed(0)} %`,
      String(rounds.reduce((sum, round) => sum + round.failures, 0)),
    ]
  })
  const head = [
    '',
    'p50 ms',
    'p99 ms',
    'added p50 (p20–p80)',
    'added p99 (p20–p80)',
    'sent late p99',
    'taken',
    'failed',
  ]
  return textTable(title, head, rows)
}
