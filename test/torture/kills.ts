// Kills the server with SIGKILL again and again while traffic goes on, and tells the traffic when somebody is there.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Chance } from './randomness.ts'
import type { Scene } from './scene.ts'
import type { ServerProcess } from './server-process.ts'

const BOOT_KILL_ONE_IN = 8 // some kills hit a server that is still coming up from the last one

export interface Killing {
  kills: number
  /** From the moment a server serves; what it waits for decides when the kill comes. */
  beforeKill(kill: number): Promise<void>
}

export type Doorway = ReturnType<typeof doorway>

/** Open while a server answers; who finds it shut waits. */
export function doorway() {
  let open = () => {}
  const closed = () =>
    new Promise<void>((resolve) => {
      open = resolve
    })
  let opened = closed()
  return {
    opened: () => opened,
    open: () => open(),
    shut() {
      opened = closed()
    },
  }
}

export async function killAgainAndAgain(scene: Scene, door: Doorway, random: Chance, { kills, beforeKill }: Killing) {
  const starts_ms: number[] = []
  let booting = 0
  let start_ms = 500
  async function bringUp(): Promise<ServerProcess> {
    const spawned_ms = performance.now()
    const server = await scene.start()
    start_ms = performance.now() - spawned_ms
    starts_ms.push(start_ms)
    door.open()
    return server
  }

  for (let kill = 1; kill <= kills; kill++) {
    // The first start, which makes the store and its secret, is always cut short once.
    if (kill === 1 || random.oneIn(BOOT_KILL_ONE_IN)) {
      booting++
      const server = scene.spawn()
      await sleep(random.between(0, start_ms))
      await server.kill()
    }
    const server = await bringUp()
    await beforeKill(kill)
    door.shut()
    await server.kill()
  }
  return { booting, server: await bringUp(), starts_ms: starts_ms.sort((a, b) => a - b) }
}
