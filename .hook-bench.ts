import { limiting } from './src/limits/limit-hooks.ts'
import { memoryCounters } from './src/counters/memory.ts'
import { slidingWindow } from './src/limits/sliding-window.ts'
import { noGateway } from './src/gateway-settings.ts'
import { systemClock } from './src/core/clock.ts'
const base = noGateway()
const limits = { ...base.limits, edge: { ...base.limits.edge, read_per_minute: 1e9, inference_per_minute: 1e9 }, key: { ...base.limits.key, requests_per_minute: 1e9 }, project: { ...base.limits.project, requests_per_minute: 1e9 } }
const l = limiting({ decorateRequest() {} } as never, { counters: memoryCounters(slidingWindow), clock: systemClock, limits, trusted_proxies: [], onRefusal() {}, onSpared() {} })
class Reply { h: Record<string, unknown> = {}; header(k: string, v: unknown) { this.h[k.toLowerCase()] = v; return this } headers(o: object) { for (const k of Object.keys(o)) this.header(k, (o as never)[k]); return this } }
const done = () => {}
function one(url: string) {
  const request = { raw: { socket: { remoteAddress: '127.0.0.1' }, headers: {} }, caller: { key_id: 'key_aaaaaaaaaaaaaaaaaaaa', project_id: 'prj_aaaaaaaaaaaaaaaaaaaa' }, get routeOptions() { return { method: 'GET', url, config: { scope: 'read', class: 'read' }, bodyLimit: 1, handler: done, schema: {}, version: undefined } } }
  const reply = new Reply()
  ;(l.edge as any)(request, reply, done)
  ;(l.requests as any)(request, reply, done)
}
for (const url of ['/v2/x', '/v1/x']) {
  let best = 1e9
  for (let r = 0; r < 40; r++) { const t = process.hrtime.bigint(); for (let i = 0; i < 20000; i++) one(url); best = Math.min(best, Number(process.hrtime.bigint() - t) / 20000) }
  console.log(url, (best / 1000).toFixed(2), 'µs for both hooks with headers')
}
