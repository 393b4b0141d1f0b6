// `npm run console:full-house`: what every page costs with 10,000 keys and a million usage events, in a real Chromium
// over the real server. `-- --keys 500 --events 5000` for less; `--store FOLDER` keeps the store, and takes it again;
// `--pictures FOLDER` takes a picture of each page; `--only TEXT` visits the pages that have it in their name.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { textTable } from '../../bench/text-table.ts'
import { systemClock } from '../../src/core/clock.ts'
import { readConfig } from '../../src/start/config.ts'
import { openStore } from '../../src/start/open-store.ts'
import { commonChromium } from './chromium.ts'
import { type ConsoleScene, consoleScene } from './console-scene.ts'
import { fillHouse, type House, signIn } from './house.ts'
import { housePages } from './house-pages.ts'
import { modelUpstream } from './model-upstream.ts'
import { type HousePage, measurePage, middleOf, type PageFigures } from './page-figures.ts'
import { seedSettings } from './seed-settings.ts'

const { values: asked } = parseArgs({
  options: {
    keys: { type: 'string', default: '10000' },
    events: { type: 'string', default: '1000000' },
    clusters: { type: 'string', default: '40' },
    visits: { type: 'string', default: '3' },
    store: { type: 'string' },
    pictures: { type: 'string' },
    only: { type: 'string', default: '' },
  },
})
const LOOK = { reducedMotion: 'reduce', viewport: { width: 1280, height: 800 } } as const
const say = (line: string) => void process.stderr.write(`${line}\n`)

const folder = asked.store ?? mkdtempSync(join(tmpdir(), 'switchyard-full-house-'))
const settings = { SWITCHYARD_DATA_DIR: folder }
const file = join(folder, 'house.json')
const is_new = !existsSync(file)
const house: House = is_new ? await filled() : JSON.parse(readFileSync(file, 'utf8'))
const upstream = await modelUpstream()
const scene = await consoleScene({ ...upstream.env, ...settings })
try {
  const cookie = await signIn(scene, house)
  if (is_new) await seedSettings(scene, cookie, house.key_id)
  writeFileSync(file, JSON.stringify(house))
  const figures: PageFigures[] = []
  for (const page of housePages(house).filter(({ name }) => name.includes(asked.only))) {
    const visits: PageFigures[] = []
    for (let visit = 0; visit < Number(asked.visits); visit++) visits.push(await visited(scene, cookie, page))
    figures.push(middleOf(visits))
    say(page.name)
  }
  process.stdout.write(`${house.keys} keys, ${house.events} usage events\n${report(figures)}\n`)
} finally {
  await scene.stop()
  await (await commonChromium()).close()
  await upstream.close()
  if (asked.store === undefined) rmSync(folder, { recursive: true, force: true })
}

/** Before a server opens it. */
async function filled(): Promise<House> {
  const { db } = await openStore(readConfig(settings), systemClock)
  const size = { keys: Number(asked.keys), events: Number(asked.events), clusters: Number(asked.clusters) }
  const house = await fillHouse(db, size, say)
  await db.close()
  return house
}

/** By somebody who just came: nothing is in the browser's cache. */
async function visited(scene: ConsoleScene, cookie: string, what: HousePage): Promise<PageFigures> {
  const { page, heard, close } = await scene.arrive({ ...LOOK, cookie, is_new: true })
  const figures = await measurePage(page, what)
  if (asked.pictures !== undefined) {
    mkdirSync(asked.pictures, { recursive: true })
    const name = what.name.toLowerCase().replace(/\W+/g, '-')
    await page.screenshot({ path: join(asked.pictures, `${name}.png`), fullPage: true })
  }
  for (const line of heard) say(`${what.name}: ${line}`)
  await close()
  return figures
}

function report(figures: readonly PageFigures[]): string {
  const head = ['page', 'usable ms', 'answers', 'KB', 'slowest answer', 'elements', 'task ms', 'server held ms']
  const task = (ms: number) => (ms === 0 ? '< 50' : String(ms))
  const rows = figures.map((one) => [
    one.name,
    String(one.usable_ms),
    String(one.answers),
    (one.answer_bytes / 1_000).toFixed(1),
    one.slowest ? `${one.slowest.ms} ms ${one.slowest.path.slice(0, 60)}` : '',
    String(one.elements),
    task(one.longest_task_ms),
    String(one.server_held_ms),
  ])
  const acts = figures.flatMap(({ name, act }) =>
    act ? [[name, act.name, String(act.ms), task(act.longest_task_ms), String(act.elements)]] : [],
  )
  const acted = textTable('What people do', ['page', 'what', 'ms', 'task ms', 'elements'], acts)
  return `${textTable('Every page, opened', head, rows)}\n${acted}`
}
