// §11, R21 against kill -9: whatever was acknowledged is there, once, and is answered with the same bytes ever after.
import { setTimeout as sleep } from 'node:timers/promises'
import { asks, count, inLanes, stored } from './asks.ts'
import { check, type Operation } from './checker.ts'
import { doorway, killAgainAndAgain } from './kills.ts'
import type { Plant } from './plants.ts'
import { type Chance, chance } from './randomness.ts'
import type { Ask } from './recording-client.ts'
import { type Report, report, verdictChecks } from './report.ts'
import { type Engine, openScene, type Scene } from './scene.ts'

export interface Kill9 {
  cycles: number
  in_flight: number
  engine: Engine
  plant?: Plant | undefined
  seed: number
  note?: (text: string) => void
}

const TRAFFIC_MS = [0, 400] as const // from the first answer to the kill
const EARLY_KILL_ONE_IN = 8 // some hit one that has not answered anything yet
const RETRY_MS = 10
const GIVE_UP_MS = 30_000
const PLANTED_GIVE_UP_MS = 3_000 // a planted bug may leave keys that nothing ever answers

export async function kill9(run: Kill9): Promise<Report> {
  const { cycles, in_flight, engine, plant, seed } = run
  const scene = await openScene({ engine, plant })
  return report(scene, { command: 'kill9', engine, plant, seed }, async () => {
    const random = chance(seed)
    const traffic = startTraffic(scene, random, { in_flight, give_up_ms: plant ? PLANTED_GIVE_UP_MS : GIVE_UP_MS })
    const { booting, server } = await killAgainAndAgain(scene, traffic.door, random, {
      kills: cycles,
      async beforeKill(kill) {
        if (!random.oneIn(EARLY_KILL_ONE_IN)) await traffic.answered()
        await sleep(random.between(...TRAFFIC_MS))
        run.note?.(`kill ${kill} of ${cycles}, ${traffic.asked.length} keys`)
      },
    })
    await traffic.finish()
    const { operations, asked } = traffic
    const retried = count(operations, (one) => one.replayed === true)
    await inLanes(in_flight, asked, async (ask) => void operations.push(await scene.client.post(ask)))
    const effects = await stored(scene.client)
    const unclean = await scene.stop(server)
    return {
      figures: {
        'kills under traffic': cycles,
        'kills while starting': booting,
        'requests in flight': in_flight,
        'keys asked for': asked.length,
        'requests sent': operations.length,
        'requests cut off by a kill': count(operations, (one) => one.outcome === 'unknown'),
        'retries that found it done': retried,
        'answers of 409': count(operations, (one) => one.status === 409),
        'replays asked for afterwards': asked.length,
        'effects in the store': effects.length,
      },
      checks: [
        ...verdictChecks(check({ operations, stored: effects })),
        { name: 'damage found by integrity_check', found: scene.damage() },
        { name: 'last stop not clean', found: unclean },
      ],
    }
  })
}

interface Lanes {
  in_flight: number
  /** How long one is asked for in vain. */
  give_up_ms: number
}

/** Lanes that each ask for one thing after another, and for each again and again until it is answered with 2xx. */
function startTraffic({ client }: Scene, random: Chance, { in_flight, give_up_ms }: Lanes) {
  const operations: Operation[] = []
  const asked: Ask[] = []
  const next = asks(random)
  const door = doorway()
  let isOver = false
  let noteAnswer = () => {}

  async function untilAnswered(ask: Ask): Promise<void> {
    const deadline_ms = performance.now() + give_up_ms
    while (performance.now() < deadline_ms) {
      await door.opened()
      const operation = await client.post(ask)
      operations.push(operation)
      if (operation.outcome === 'ok') return noteAnswer()
      await sleep(RETRY_MS)
    }
  }

  async function lane(): Promise<void> {
    for (await door.opened(); !isOver; await door.opened()) {
      const ask = next()
      asked.push(ask)
      await untilAnswered(ask)
    }
  }

  const running = Promise.all(Array.from({ length: in_flight }, lane))
  return {
    operations,
    asked,
    door,
    /** Resolves with the next answer. */
    answered: () =>
      new Promise<void>((resolve) => {
        noteAnswer = resolve
      }),
    async finish() {
      isOver = true
      await running
    },
  }
}
