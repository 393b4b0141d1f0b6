// The real server over a store with one planted bug: `planted-server.ts <plant>`. Everything else is as in production,
// the build included: it starts as fast as the one without the bug.
import type { readConfig } from '../../src/config.ts'
import type { serveUntilSignal } from '../../src/main.ts'
import type { openStore } from '../../src/open-store.ts'
import { PLANTS, type Plant, type Planted } from './plants.ts'

const built = (path: string) => import(new URL(`../../dist/src/${path}`, import.meta.url).href)
const config: { readConfig: typeof readConfig } = await built('config.js')
const main: { serveUntilSignal: typeof serveUntilSignal } = await built('main.js')
const store: { openStore: typeof openStore } = await built('open-store.js')

const plant: Planted | undefined = PLANTS[process.argv[2] as Plant]
if (!plant) throw new Error(`plants are ${Object.keys(PLANTS).join(', ')}`)
plant.install?.()

process.exitCode = await main.serveUntilSignal(config.readConfig(), {
  async open(...settings: Parameters<typeof openStore>) {
    const opened = await store.openStore(...settings)
    return { ...opened, db: plant.wrap?.(opened.db) ?? opened.db }
  },
})
