// F21: PostgreSQL killed under traffic, again and again. What was acknowledged is there, once; every refusal says 503 in
// the envelope and when to come back; nothing hangs; the servers recover by themselves.
import { setTimeout as sleep } from 'node:timers/promises'
import { ownPostgresServer, type PostgresServer } from '../support/postgres-server.ts'
import { asks, count, highest, inLanes, stored } from './asks.ts'
import { check, type Operation } from './checker.ts'
import type { Plant } from './plants.ts'
import { type Chance, chance } from './randomness.ts'
import type { Ask } from './recording-client.ts'
import { openReplicaScene, REPLICAS, type Replicas, withReplicas } from './replica-scene.ts'
import { type Report, report, verdictChecks } from './report.ts'

export interface Postmaster {
  kills: number
  in_flight: number
  plant?: Plant | undefined
  seed: number
  note?: (text: string) => void
}

const TRAFFIC_MS = [100, 700] as const // from the first answer to the kill
const AWAY_MS = [0, 600] as const // from the kill to the start
const HANG_MS = 10_000 // a busy machine takes a while; what hangs does so for longer
const RETRY_MS = 20
const GIVE_UP_MS = 60_000

export async function postmaster(run: Postmaster): Promise<Report> {
  const { kills, in_flight, plant, seed } = run
  const postgres = await ownPostgresServer()
  const scene = await openReplicaScene({ plant, postgres })
  return report(scene, { command: 'postmaster', engine: 'postgres', plant, seed }, () =>
    withReplicas(scene, async (replicas) => {
      const random = chance(seed)
      const traffic = startTraffic(replicas, random, in_flight)
      const recoveries = await killAgainAndAgain(postgres, traffic, random, run)
      await traffic.finish()
      const { operations, asked } = traffic
      await inLanes(in_flight, asked, async (ask) => void operations.push(await replicas.inTurn().post(ask)))
      const effects = await stored(scene.client)

      const took = operations.map((one) => one.settled_ms - one.invoked_ms)
      const verdict = check({ operations, stored: effects })
      const expected = verdict.server_errors.filter((line) => !line.endsWith(' 503'))
      return {
        provoked_errors: true,
        figures: {
          replicas: REPLICAS,
          'kills of the postmaster': kills,
          'requests in flight': in_flight,
          'keys asked for': asked.length,
          'requests sent': operations.length,
          'answers of 503': count(operations, (one) => one.status === 503),
          'answers of 409': count(operations, (one) => one.status === 409),
          'retries that found it done': count(operations, (one) => one.replayed === true) - asked.length,
          'effects in the store': effects.length,
          'slowest answer, ms': Math.round(highest(took)),
          'until answers come again, worst, ms': Math.round(highest(recoveries)),
        },
        checks: [
          ...verdictChecks({ ...verdict, server_errors: expected }),
          {
            name: 'requests that hung over 10 s',
            found: took.filter((ms) => ms > HANG_MS).map((ms) => `${Math.round(ms)} ms`),
          },
          {
            name: 'requests without an answer',
            found: operations.filter((one) => one.outcome === 'unknown').map((one) => `${one.path} ${one.key}`),
          },
          {
            name: 'servers that ended by themselves',
            found: replicas.servers.filter((server) => !server.isRunning()).map((server) => `port ${server.port}`),
          },
          { name: 'refusals not in the envelope', found: operations.flatMap((one) => one.malformed ?? []) },
        ],
      }
    }),
  ).finally(() => postgres.stop())
}

type Traffic = ReturnType<typeof startTraffic>

/** Lanes that each ask for one thing after another, of any replica, and for each until it is answered with 2xx. */
function startTraffic({ inTurn }: Replicas, random: Chance, lanes: number) {
  const operations: Operation[] = []
  const asked: Ask[] = []
  const next = asks(random)
  let isOver = false

  async function lane(): Promise<void> {
    while (!isOver) {
      const ask = next()
      asked.push(ask)
      const deadline_ms = performance.now() + GIVE_UP_MS
      for (let answered = false; !answered && performance.now() < deadline_ms; ) {
        const operation = await inTurn().post(ask)
        operations.push(operation)
        answered = operation.outcome === 'ok'
        if (!answered) await sleep(RETRY_MS)
      }
    }
  }

  const running = Promise.all(Array.from({ length: lanes }, lane))
  return {
    operations,
    asked,
    /** Resolves once something that was sent from now on has been answered. */
    async answersAgain(): Promise<void> {
      const from_ms = performance.now()
      const isAnswered = (one: Operation) => one.outcome === 'ok' && one.invoked_ms >= from_ms
      for (let seen = operations.length; !operations.slice(seen).some(isAnswered); ) {
        seen = operations.length
        await sleep(RETRY_MS)
        if (performance.now() - from_ms > GIVE_UP_MS) throw new Error('the servers did not recover')
      }
    },
    async finish() {
      isOver = true
      await running
    },
  }
}

/** How long it was, after each start of the database, until a request was answered. */
async function killAgainAndAgain(
  postgres: PostgresServer,
  traffic: Traffic,
  random: Chance,
  { kills, note = () => {} }: Postmaster,
): Promise<number[]> {
  const recoveries: number[] = []
  await traffic.answersAgain()
  for (let kill = 1; kill <= kills; kill++) {
    await sleep(random.between(...TRAFFIC_MS))
    postgres.kill(kill % 2 === 0 ? 'SIGQUIT' : 'SIGKILL')
    await sleep(random.between(...AWAY_MS))
    await postgres.start()
    const back_ms = performance.now()
    await traffic.answersAgain()
    recoveries.push(performance.now() - back_ms)
    note(`kill ${kill} of ${kills}, ${traffic.asked.length} keys`)
  }
  return recoveries
}
