// What governance costs: a 2 KB chat request through the service in its settings, beside the bare proxies and a gateway
// that does none of it, in the same rounds.
import { SETTINGS } from '../src/start/config.ts'
import { type Conditions, type Contender, measure, summarize, table } from './measure.ts'
import type { ServerProcess } from './processes.ts'
import { record } from './report.ts'
import { ADMIN_KEY, as, CHAT, chat, limitedKey, startPostgres, startRedis, startService } from './service-under-test.ts'
import { startBareProxy, startPortkey, startUpstream } from './upstream-side.ts'

const PORTKEY = "Portkey's gateway"

interface Kind {
  title: string
  body: string
  warm_requests?: number
}

const WHOLE: Kind = { title: 'Chat, 2 KB in, whole answers', body: chat() }
// Fifty chunks make a stream; each stream takes half a second, so rounds must be long enough for several.
const STREAMS: Kind = { title: 'Chat, streams of 50 chunks', body: chat({ stream: true }), warm_requests: 1_500 }

export const chatWhole = (conditions: Conditions, only: string[]) => gateways(WHOLE, conditions, only)
export const chatStreams = (conditions: Conditions, only: string[]) => gateways(STREAMS, conditions, only)

/** With words in `only`, no more than the contenders whose names hold one of them, and the references they need. */
async function gateways(kind: Kind, conditions: Conditions, only: readonly string[]): Promise<string> {
  const isWanted = (name: string) => only.length === 0 || only.some((word) => name.includes(word))
  const upstream = await startUpstream()
  const notes: string[] = []
  const own = (setting: string, server: ServerProcess, key: string, unique_header?: string): Contender => ({
    name: `switchyard, ${setting}`,
    server,
    plan: { path: CHAT, body: kind.body, headers: as(key), ...(unique_header && { unique_header }) },
    ...(kind.warm_requests && { warm_requests: kind.warm_requests }),
  })
  const references = await referencesOf(kind, upstream, notes, isWanted)
  const placeholder = await startService({ name: 'placeholder' })
  const embedded = await startService({ name: 'embedded', upstream })
  const limited = await limitedKey(embedded)
  const all = [
    ...references,
    own('placeholder, no upstream', placeholder, ADMIN_KEY),
    own('live', embedded, ADMIN_KEY),
    own('live, a hold for each call', embedded, limited),
    own('live, keyed', embedded, ADMIN_KEY, 'agent-idempotency-key'),
    ...(isWanted('PostgreSQL') ? await clustered(upstream, own, notes) : []),
  ]
  const contenders = all.filter(({ name }) => /^direct|\(base\)$/.test(name) || isWanted(name))
  const measured = await measure(contenders, conditions)
  const summaries = summarize(measured.rounds, contenders)
  await Promise.all([upstream, ...all.map((one) => one.server)].map((server) => server.stop()))
  record(kind.title, { conditions, ...measured, summaries, notes })
  return [table(kind.title, summaries, conditions), ...notes.map((text) => `\n${text}`)].join('\n')
}

async function referencesOf(
  kind: Kind,
  upstream: ServerProcess,
  notes: string[],
  isWanted: (name: string) => boolean,
): Promise<Contender[]> {
  const warm = kind.warm_requests ? { warm_requests: kind.warm_requests } : {}
  const plan = { path: CHAT, body: kind.body, headers: as(ADMIN_KEY) }
  const portkey = isWanted(PORTKEY) ? await startPortkey(upstream) : undefined
  if (typeof portkey === 'string') notes.push(portkey)
  const gateway = typeof portkey === 'object' ? [portkey] : []
  return [
    { name: 'direct, no proxy', server: upstream, plan, reference_only: true, ...warm },
    {
      name: 'bare node:http + undici dispatch (base)',
      server: await startBareProxy(upstream, 'node:http'),
      plan,
      ...warm,
    },
    { name: 'bare Fastify + undici dispatch', server: await startBareProxy(upstream, 'Fastify'), plan, ...warm },
    ...gateway.map(({ server, headers }) => ({
      name: PORTKEY,
      server,
      plan: { ...plan, headers: { ...plan.headers, ...headers } },
      ...warm,
    })),
  ]
}

type Own = (setting: string, server: ServerProcess, key: string) => Contender

/** The same on PostgreSQL, and with Redis beside it where this version knows it and one can be had. */
async function clustered(upstream: ServerProcess, own: Own, notes: string[]): Promise<Contender[]> {
  const stores: [string, Record<string, string>][] = []
  try {
    const env = await startPostgres()
    stores.push(['PostgreSQL', env])
    const redis = 'REDIS_URL' in SETTINGS ? await startRedis() : 'No row with Redis: this version has no REDIS_URL.'
    if (typeof redis === 'string') notes.push(redis)
    else stores.push(['PostgreSQL + Redis', { ...(await startPostgres()), ...redis }])
  } catch (error) {
    notes.push(`No row with PostgreSQL: ${(error as Error).message.split('\n')[0]}`)
  }
  const contenders: Contender[] = []
  for (const [name, env] of stores) {
    const server = await startService({ name, upstream, env })
    contenders.push(
      own(`${name}, live`, server, ADMIN_KEY),
      own(`${name}, a hold for each call`, server, await limitedKey(server)),
    )
  }
  return contenders
}
