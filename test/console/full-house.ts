// `npm run console:full-house`: what every page costs with 10,000 keys, a million usage events and 100,000 refusals, in
// a real Chromium over the real server. `-- --keys 500 --events 5000` for less; `--store FOLDER` keeps the store, and takes it again;
// `--pictures FOLDER` takes a picture of each page; `--only TEXT` visits the pages that have it in their name.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { textTable } from '../../bench/text-table.ts'
import { systemClock } from '../../src/core/clock.ts'
import { readConfig } from '../../src/start/config.ts'
import { openStore } from '../../src/start/open-store.ts'
import { commonChromium } from './chromium.ts'
import { type ConsoleScene, consoleScene } from './console-scene.ts'
import { fillHouse, type House, signIn } from './house.ts'
import { fillJobs, type HouseJobs } from './house-jobs.ts'
import { housePages } from './house-pages.ts'
import { modelUpstream } from './model-upstream.ts'
import { type HousePage, measurePage, middleOf, type PageFigures } from './page-figures.ts'

const { values: asked } = parseArgs({
  options: {
    keys: { type: 'string', default: '10000' },
    events: { type: 'string', default: '1000000' },
    clusters: { type: 'string', default: '40' },
    refusals: { type: 'string', default: '100000' },
    visits: { type: 'string', default: '3' },
    store: { type: 'string' },
    pictures: { type: 'string' },
    only: { type: 'string', default: '' },
  },
})
const LOOK = { reducedMotion: 'reduce', viewport: { width: 1280, height: 800 } } as const
type Cookies = Readonly<Record<'owner' | 'operator', string>>
const say = (line: string) => void process.stderr.write(`${line}\n`)

const folder = asked.store ?? mkdtempSync(join(tmpdir(), 'switchyard-full-house-'))
const settings = { SWITCHYARD_DATA_DIR: folder }
const file = join(folder, 'house.json')
const is_new = !existsSync(file)
const kept: (House & HouseJobs) | undefined = is_new ? undefined : JSON.parse(readFileSync(file, 'utf8'))
const filled_house: House = kept ?? (await filled())
const upstream = await modelUpstream({ records: true })
const scene = await consoleScene({ ...upstream.env, ...settings })
try {
  const cookie = await signIn(scene, filled_house)
  const jobs = kept ?? (await fillJobs(scene, filled_house, { cookie, provider_url: upstream.base_url }))
  const house: House & HouseJobs = { ...filled_house, ...jobs }
  writeFileSync(file, JSON.stringify(house))
  const cookies = { owner: cookie, operator: house.operator_cookie }
  const figures: PageFigures[] = []
  for (const page of housePages(house).filter(({ name }) => name.includes(asked.only))) {
    const visits: PageFigures[] = []
    for (let visit = 0; visit < Number(asked.visits); visit++) visits.push(await visited(scene, cookies, page))
    const middle = middleOf(visits)
    figures.push(middle)
    say(`${page.name}: ${middle.usable_ms} ms`)
  }
  const size = `${house.keys} keys, ${house.events} usage events, ${house.refusals} refusals`
  const load = loadavg().map((one) => one.toFixed(2))
  process.stdout.write(`${size}; load of the machine ${load.join(', ')}\n${report(figures)}\n`)
} finally {
  await scene.stop()
  await (await commonChromium()).close()
  await upstream.close()
  if (asked.store === undefined) rmSync(folder, { recursive: true, force: true })
}

/** Before a server opens it. */
async function filled(): Promise<House> {
  const { db } = await openStore(readConfig(settings), systemClock)
  const { keys, events, clusters, refusals } = asked
  const size = { keys: Number(keys), events: Number(events), clusters: Number(clusters), refusals: Number(refusals) }
  const house = await fillHouse(db, size, say)
  await db.close()
  return house
}

/** By somebody who just came: nothing is in the browser's cache. */
async function visited(scene: ConsoleScene, cookies: Cookies, what: HousePage): Promise<PageFigures> {
  const who = what.by === 'nobody' ? {} : { cookie: cookies[what.by ?? 'owner'] }
  const { page, heard, close } = await scene.arrive({ ...LOOK, ...who, is_new: true })
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
