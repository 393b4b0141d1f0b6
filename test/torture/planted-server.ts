// The real server over a store with one planted bug: `planted-server.ts <plant>`. Everything else is as in production.
import { readConfig } from '../../src/config.ts'
import { serveUntilSignal } from '../../src/main.ts'
import { openStore } from '../../src/open-store.ts'
import { PLANTS, type Plant } from './plants.ts'

const plant = PLANTS[process.argv[2] as Plant]
if (!plant) throw new Error(`plants are ${Object.keys(PLANTS).join(', ')}`)

process.exitCode = await serveUntilSignal(readConfig(), {
  async open(...settings: Parameters<typeof openStore>) {
    const store = await openStore(...settings)
    return { ...store, db: plant.wrap(store.db) }
  },
})
