// §11.5: of any number of identical requests at once exactly one executes; the others are told so or get its answer.
import { asks, count, inLanes, stored } from './asks.ts'
import { check, type Operation } from './checker.ts'
import type { Plant } from './plants.ts'
import { chance } from './randomness.ts'
import { type Report, report, verdictChecks } from './report.ts'
import { type Engine, openScene } from './scene.ts'

export interface Race {
  triples: number
  at_once: number
  /** Servers that the identical requests are spread over. */
  replicas?: number
  engine: Engine
  plant?: Plant | undefined
  seed: number
}

const TRIPLES_AT_ONCE = 4 // so that the transactions of other triples come in between

export async function race({ triples, at_once, replicas = 1, engine, plant, seed }: Race): Promise<Report> {
  const scene = await openScene({ engine, plant, replicas })
  return report(scene, { command: 'race', engine, plant, seed }, async () => {
    await Promise.all(scene.clients.map((_, replica) => scene.start(replica)))
    const toReplica = (n: number) => scene.clients[n % replicas] as (typeof scene.clients)[number]
    const operations: Operation[] = []
    const again: Operation[] = []
    const next = asks(chance(seed))

    await inLanes(TRIPLES_AT_ONCE, Array.from({ length: triples }, next), async (ask) => {
      operations.push(...(await Promise.all(Array.from({ length: at_once }, (_, n) => toReplica(n).post(ask)))))
      again.push(await toReplica(again.length).post(ask))
    })
    const effects = await stored(scene.client)
    const executed = count(operations, (one) => one.replayed === false)
    return {
      figures: {
        triples,
        'requests at once for each': at_once,
        servers: replicas,
        'requests sent': operations.length + again.length,
        'answers that executed': executed,
        'answers that are replays': count(operations, (one) => one.replayed === true),
        'answers of 409': count(operations, (one) => one.status === 409),
        'replays asked for afterwards': count(again, (one) => one.replayed === true),
        'effects in the store': effects.length,
      },
      checks: [
        ...verdictChecks(check({ operations: [...operations, ...again], stored: effects })),
        { name: 'executions other than one a triple', found: effects.length === triples ? [] : [`${effects.length}`] },
        {
          name: 'requests without an answer',
          found: operations.filter((one) => one.outcome === 'unknown').map((one) => `${one.path} ${one.key}`),
        },
        {
          name: 'afterwards not a replay',
          found: again.filter((one) => !one.replayed).map((one) => `${one.path} ${one.key}: ${one.status}`),
        },
      ],
    }
  })
}
