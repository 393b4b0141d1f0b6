// The attacker of a hostile run, as a program of low priority: told which attacks, it runs them side by side for as long
// as it is told, and says what it was answered and what it got.
import { setPriority } from 'node:os'
import { ATTACKS, type AttackName } from './attacks/all-attacks.ts'
import { type Arms, ATTACKER_ADDRESS } from './attacks/attack.ts'
import { hostileClient } from './hostile-client.ts'
import { readyHere, toldHere } from './told-here.ts'

export interface AttackerTold {
  ports: number[]
  endpoint: string
  internal_port: number
}

/** `attack` is its name in the ledger, which is another one where it runs with all others. */
export interface Order {
  attack: string
  name: AttackName
  /** The admin key of its project. */
  key: string
}

export interface Outcome {
  attack: string
  /** How often each status was answered; 0 stands for no answer. */
  statuses: Record<string, number>
  gained: string[]
  /** The attack itself could not be made. */
  error?: string | undefined
}

const told = toldHere<AttackerTold>()
setPriority(10) // what it costs to attack must not be what slows the victim down

async function carryOut({ attack, name, key }: Order, isOver: () => boolean): Promise<Outcome> {
  const client = hostileClient(told.ports, ATTACKER_ADDRESS, key)
  const outcome: Outcome = { attack, statuses: {}, gained: [] }
  const arms: Arms = {
    ...{ ...told, attack, key, servers: told.ports.length, isOver, client },
    async ask(asking) {
      const answer = await client.send(asking)
      outcome.statuses[answer.status] = (outcome.statuses[answer.status] ?? 0) + 1
      return answer
    },
    gain: (what) => void outcome.gained.push(what),
  }
  try {
    await ATTACKS[name].run(arms)
  } catch (error) {
    outcome.error = (error as Error).message
  }
  client.close()
  return outcome
}

process.on('message', async ({ orders, for_ms }: { orders: Order[]; for_ms: number }) => {
  const until_ms = performance.now() + for_ms
  const before = process.cpuUsage()
  const outcomes = await Promise.all(orders.map((order) => carryOut(order, () => performance.now() >= until_ms)))
  const { user, system } = process.cpuUsage(before)
  process.send?.({ outcomes, cpu_s: (user + system) / 1_000_000 })
})

readyHere({})
