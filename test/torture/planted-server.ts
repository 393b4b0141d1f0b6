// The real server with one planted bug, or on a clock that the harness moves: `planted-server.ts <plant> [clock file]`.
// Everything else is as in production, the build included: it starts as fast as the one without the bug.
import { readFileSync } from 'node:fs'
import { systemClock } from '../../src/core/clock.ts'
import { type Replaceable, serveUntilSignal } from '../../src/main.ts'
import { readConfig } from '../../src/start/config.ts'
import { openStore } from '../../src/start/open-store.ts'
import { isWorker, superviseWorkers } from '../../src/start/workers.ts'
import { serveAsWorker } from '../../src/worker.ts'
import { PLANTS, type Plant, type Planted } from './plants.ts'

const [, , name, clock_file] = process.argv
const plant: Planted | undefined = name === 'none' ? { meaning: 'No bug at all.' } : PLANTS[name as Plant]
if (!plant) throw new Error(`plants are ${Object.keys(PLANTS).join(', ')}`)
await plant.install?.()

const movedClock = (file: string) => ({ now: () => systemClock.now() + Number(readFileSync(file, 'utf8')) })

const replaceable: Replaceable = {
  ...(clock_file && { clock: movedClock(clock_file) }),
  async open(...settings: Parameters<typeof openStore>) {
    const opened = await openStore(...settings)
    return { ...opened, db: plant.wrap?.(opened.db) ?? opened.db }
  },
}

const config = readConfig()
if (config.workers === 1) process.exitCode = await serveUntilSignal(config, replaceable)
else process.exitCode = await (isWorker() ? serveAsWorker(config, replaceable) : superviseWorkers(config))
process.exit()
