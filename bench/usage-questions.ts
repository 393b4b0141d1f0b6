// What people ask of usage, over HTTP, of the service as they run it.
import { DAY_MS, rfc3339 } from '../src/core/clock.ts'
import { quantile } from './figures.ts'
import { ADMIN_KEY, as, startService } from './service-under-test.ts'
import { BENCH_DAYS } from './usage-events.ts'
import type { Place } from './usage-place.ts'

const ASKED = 200
const ASKED_AT_LEAST = 20
const ASKED_FOR_MS = 2_500
const WARMED = 10
const ODD_MS = 1_234_567 // a range that begins within an hour: its ends are not in any roll-up

export interface Timed {
  name: string
  p50_ms: number
  p99_ms: number
  asked: number
}

export async function askAll(place: Place): Promise<Timed[]> {
  const service = await startService({ name: 'switchyard', data_dir: place.data_dir, env: place.env })
  const get = async (path: string): Promise<string> => {
    const answer = await fetch(service.url + path, { headers: as(ADMIN_KEY) })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${text}`)
    return text
  }
  try {
    const timed: Timed[] = []
    for (const [name, path] of await questions(place, get)) timed.push(await time(name, () => get(path)))
    const window = { window: { period: 'month', limit_usd: 1_000_000 } }
    const none = { window: null }
    const busiest = `/v2/api-keys/${place.owner.keys[0]}/budget`
    const post = async (body: object) => {
      const headers = as(ADMIN_KEY)
      const answer = await fetch(service.url + busiest, { method: 'POST', headers, body: JSON.stringify(body) })
      if (!answer.ok) throw new Error(`${busiest} answered ${answer.status}: ${await answer.text()}`)
      await answer.text()
    }
    const setting = () => post(window)
    timed.push(await time('a monthly limit set on the busiest key', setting, () => post(none)))
    return timed
  } finally {
    await service.stop()
  }
}

async function questions({ end_ms, owner }: Place, get: (path: string) => Promise<string>) {
  const ago = (days: number) => end_ms - days * DAY_MS
  const from = (time_ms: number) => `from=${encodeURIComponent(rfc3339(time_ms))}`
  const quarter = from(ago(BENCH_DAYS) + ODD_MS)
  const recent = `${from(ago(30) - ODD_MS)}&to=${encodeURIComponent(rfc3339(end_ms))}`
  const key = `key_id=${owner.keys[BENCH_DAYS % owner.keys.length]}`
  const deep = rfc3339(ago(Math.floor(BENCH_DAYS * 0.9)))
  const [old] = JSON.parse(await get(`/v2/usage?limit=1&to=${encodeURIComponent(deep)}`)).data
  return [
    ['group_by=day', '/v2/usage?group_by=day'],
    ['group_by=day, 90 days', `/v2/usage?group_by=day&${quarter}`],
    ['group_by=day,model, 90 days', `/v2/usage?group_by=day,model&${quarter}`],
    ['group_by=day of one key, 90 days', `/v2/usage?group_by=day&${key}&${quarter}`],
    ['group_by=key_id,model', '/v2/usage?group_by=key_id,model'],
    ['group_by=key_id,model, 90 days', `/v2/usage?group_by=key_id,model&${quarter}`],
    ['the list, first page of 100', '/v2/usage?limit=100'],
    ['a page of 100, nine tenths back', `/v2/usage?limit=100&after=${old.trace_id}`],
    ['the same of one key', `/v2/usage?limit=100&${key}&after=${old.trace_id}`],
    ['one trace', `/v2/traces/${old.trace_id}`],
    ['timeline by day, 90 days', `/v2/usage/timeline?step=day&${quarter}&to=${encodeURIComponent(rfc3339(end_ms))}`],
    ['timeline by hour, 30 days', `/v2/usage/timeline?step=hour&${recent}`],
    ['attention', '/v2/attention'],
  ] as const
}

export async function time(name: string, work: () => Promise<unknown>, between?: () => Promise<void>): Promise<Timed> {
  const times: number[] = []
  const started = performance.now()
  for (let n = -WARMED; n < ASKED; n++) {
    if (times.length >= ASKED_AT_LEAST && performance.now() - started > ASKED_FOR_MS) break
    const began = performance.now()
    await work()
    if (n >= 0) times.push(performance.now() - began)
    await between?.()
  }
  return { name, p50_ms: quantile(times, 0.5), p99_ms: quantile(times, 0.99), asked: times.length }
}
