// R70: a project's whole usage in one answer, and what another project's calls notice of it meanwhile.
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../src/core/clock.ts'
import { foundProject } from '../src/start/bootstrap.ts'
import { type ServerProcess, temporaryFolder } from './processes.ts'
import { record } from './report.ts'
import { ADMIN_KEY, startService } from './service-under-test.ts'
import { textTable } from './text-table.ts'
import { type Engine, type Place, usagePlace } from './usage-place.ts'

const EVERY_MS = 10 // the other project's calls
const QUIET_MS = 20_000

export interface ListConditions {
  events: string
  engine: Engine
  folder: string | undefined
}

export async function lists({ events, engine, folder }: ListConditions): Promise<string> {
  const place = await usagePlace(engine, Number(events.split(',')[0]), folder ?? temporaryFolder().path)
  const other = await otherProject(place)
  const server = await startService({ name: 'switchyard', data_dir: place.data_dir, env: place.env })
  try {
    await calls(server, other, sleep(5_000)) // warm
    const quiet = await calls(server, other, sleep(QUIET_MS))
    const rss_before = rssOf(server)
    const list = wholeList(server)
    const beside = await calls(server, other, list)
    const told = await list
    record('A whole list of usage', { engine, events: place.events, rss_before, quiet, beside, ...told })
    const row = (name: string, one: Waits) => [name, String(one.calls), one.p50.toFixed(1), one.p99.toFixed(1)]
    return [
      `${told.rows.toLocaleString('en')} rows of ${place.events.toLocaleString('en')}, has_more ${told.has_more}, ` +
        `${(told.bytes / 1e6).toFixed(0)} MB in ${told.seconds.toFixed(1)} s; ` +
        `RSS ${rss_before.toFixed(0)} MB before, at most ${(told.rss_most - rss_before).toFixed(0)} MB more`,
      textTable(
        `Another project, a call every ${EVERY_MS} ms, ${engine}`,
        ['', 'calls', 'p50 ms', 'p99 ms'],
        [row('quiet', quiet), row('beside the list', beside)],
      ),
    ].join('\n\n')
  } finally {
    await server.stop()
    await place.close()
  }
}

async function otherProject(place: Place): Promise<string> {
  const db = await place.open()
  try {
    const founding = { name: 'other', owner_email: 'other@switchyard.local', verified: true }
    return (await foundProject(db, founding, systemClock.now())).key.raw
  } finally {
    await db.close()
  }
}

interface Waits {
  calls: number
  p50: number
  p99: number
}

/** Calls at a steady pace until something has ended, each timed from when it was due. */
async function calls({ url }: ServerProcess, key: string, until: Promise<unknown>): Promise<Waits> {
  let over = false
  void until.finally(() => {
    over = true
  })
  const body = JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hello' }] })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const waits: Promise<number>[] = []
  const started = performance.now()
  for (let n = 0; !over; n++) {
    const due = started + n * EVERY_MS
    await sleep(Math.max(0, due - performance.now()))
    waits.push(
      fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
        .then((answer) => answer.text())
        .then(() => performance.now() - due),
    )
  }
  const sorted = (await Promise.all(waits)).sort((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
  return { calls: sorted.length, p50: at(0.5), p99: at(0.99) }
}

interface Told {
  rows: number
  has_more: boolean
  bytes: number
  seconds: number
  rss_most: number
}

/** Read as it comes and counted, never kept: the reader must not be what fills up. */
function wholeList(server: ServerProcess): Promise<Told> {
  const started = performance.now()
  const told = { rows: 0, has_more: true, bytes: 0, seconds: 0, rss_most: 0 }
  return new Promise((resolve, reject) => {
    const asked = request(`${server.url}/v2/usage`, { headers: { authorization: `Bearer ${ADMIN_KEY}` } }, (answer) => {
      let tail = ''
      answer.setEncoding('latin1').on('data', (part: string) => {
        const text = tail + part
        told.bytes += part.length
        told.rows += text.split('"object":"usage_event"').length - 1
        tail = text.slice(-21)
        told.rss_most = Math.max(told.rss_most, rssOf(server))
      })
      answer.once('error', reject).once('end', () => {
        told.has_more = !tail.endsWith('"has_more":false}')
        told.seconds = (performance.now() - started) / 1_000
        resolve(told)
      })
    })
    asked.once('error', reject).end()
  })
}

const rssOf = (server: ServerProcess) => server.rssBytes() / 1e6
