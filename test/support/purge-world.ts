// A project full of contents, row by row, and what a purge filter means for it, told without any SQL: so that what a job
// erases can be compared with what it should have.
import { randomBytes } from 'node:crypto'
import { MINUTE_MS, rfc3339 } from '../../src/core/clock.ts'
import { newId, newTraceId, nextSequence } from '../../src/core/ids.ts'
import type { PurgeFilter } from '../../src/purges/purge-job.ts'
import { type Db, type OpenDb, sql } from '../../src/storage/db.ts'
import { NOON } from './clock.ts'

const DAY_MS = 24 * 60 * MINUTE_MS

/** Whoever made something: a key, or a child of one. */
export interface Maker {
  made_by: string
  made_under: string | null
}

/** One generation, and what it left. Times are in minutes before noon; a negative one is after the job was made. */
export interface Call {
  minutes: number
  maker: number
  session: number | null
  stored: boolean
  kept: boolean
  worded: boolean
  recorded: boolean
}

export interface Plot {
  sessions: readonly { minutes: number; maker: number }[]
  calls: readonly Call[]
  refused: readonly { minutes: number; maker: number }[]
  artifacts: readonly { minutes: number; makers: readonly number[] }[]
  bundles: readonly { minutes: number; maker: number; artifacts: readonly number[] }[]
}

export interface World {
  project_id: string
  makers: readonly Maker[]
  sessions: readonly string[]
  traces: readonly string[]
  responses: readonly string[]
  artifacts: readonly string[]
  bundles: readonly string[]
}

const at = (minutes: number) => NOON - minutes * MINUTE_MS
const WORDS = 'the upstream quotes a prompt'

export async function build(db: OpenDb, project_id: string, plot: Plot): Promise<World> {
  const [one, two] = [newId('key'), newId('key')]
  const makers = [
    { made_by: one, made_under: null },
    { made_by: two, made_under: null },
    { made_by: newId('key'), made_under: one },
  ]
  const makerOf = (n: number) => makers[n % makers.length] as Maker
  const artifacts: string[] = []
  const bundles: string[] = []
  const sessions: string[] = []
  const traces: string[] = []
  const responses: string[] = []
  await db.transaction(async (tx) => {
    for (const maker of makers) await child(tx, project_id, maker)
    for (const { minutes, maker } of plot.sessions)
      sessions.push(await session(tx, project_id, makerOf(maker), minutes))
    for (const call of plot.calls) {
      const session_id = call.session === null ? null : (sessions[call.session % sessions.length] ?? null)
      const made = await generation(tx, { project_id, session_id, maker: makerOf(call.maker) }, call)
      traces.push(made.trace_id)
      responses.push(made.response_id)
    }
    for (const { minutes, maker } of plot.refused)
      traces.push(await refusedCall(tx, project_id, makerOf(maker), minutes))
    for (const { minutes, makers: by } of plot.artifacts)
      artifacts.push(await artifact(tx, project_id, by.map(makerOf), minutes))
    for (const { minutes, maker, artifacts: of } of plot.bundles) {
      const parts = of.flatMap((n) => artifacts[n % Math.max(1, artifacts.length)] ?? [])
      if (parts.length > 0) bundles.push(await bundle(tx, project_id, makerOf(maker), { minutes, parts }))
    }
  })
  return { project_id, makers, sessions, traces, responses, artifacts, bundles }
}

/** Whose child a key is, is told by the key alone, where only a key was noted. */
async function child(tx: Db, project_id: string, { made_by, made_under }: Maker): Promise<void> {
  if (made_under === null) return
  await tx.rows(sql`
    INSERT INTO api_key (id, project_id, name, masked, origin, scopes, status, created_at, sequence, spent_micros,
                         parent_id)
    VALUES (${made_by}, ${project_id}, 'run', 'svc_live_…', 'minted', 'inference', 'revoked', ${rfc3339(NOON)},
            ${nextSequence(NOON)}, 0, ${made_under})`)
}

async function session(tx: Db, project_id: string, { made_by, made_under }: Maker, minutes: number): Promise<string> {
  const id = newId('ses')
  const time = rfc3339(at(minutes))
  await tx.rows(sql`
    INSERT INTO agent_session (id, project_id, status, turns, input_tokens, cached_tokens, created_at, last_activity_at,
                               sequence, made_by, made_under)
    VALUES (${id}, ${project_id}, 'open', 0, 0, 0, ${time}, ${time}, ${nextSequence(NOON)}, ${made_by}, ${made_under})`)
  return id
}

interface Where {
  project_id: string
  session_id: string | null
  maker: Maker
}

async function generation(tx: Db, { project_id, session_id, maker }: Where, call: Call) {
  const now = at(call.minutes)
  const { made_by, made_under } = maker
  const [trace_id, response_id, time] = [newTraceId(now), newId('resp'), rfc3339(now)]
  const attempts = JSON.stringify([{ n: 1, target: 't', ...(call.worded && { message: WORDS }) }])
  await tx.rows(sql`
    INSERT INTO usage_event (trace_id, project_id, key_id, created_at, created_ms, day, endpoint, status,
      requested_model, resolved_model, provider, profile, mode, region, session_id, input_tokens, cached_tokens,
      written_tokens, output_tokens, reasoning_tokens, repeated_tokens_est, missed_reuse_tokens, charged_micros,
      direct_cost_micros, savings_micros, written_off_micros, overage_micros, waived_micros, tokens_estimated,
      admission, queue_ms, duration_ms, attempts, sequence, trace)
    VALUES (${trace_id}, ${project_id}, ${made_by}, ${time}, ${now}, ${time.slice(0, 10)}, 'chat.completions',
      'completed', 'm', 'm', 'p', 'standard', 'direct', 'eu', ${session_id}, 11, 0, 0, 7, 0, 0, 0, 25, 25, 0, 0, 0, 0,
      0, 'immediate', 0, 5, ${attempts}, ${nextSequence(now)}, '{"stream":false,"keyed":false,"fallback_used":false}')`)
  if (session_id !== null)
    for (const type of ['input', 'assistant_output'])
      await tx.rows(sql`
        INSERT INTO session_event (id, project_id, session_id, sequence, type, response_id, trace_id, created_at,
                                   made_by, made_under, sealed)
        VALUES (${newId('sev')}, ${project_id}, ${session_id},
                (SELECT COALESCE(MAX(sequence), 0) + 1 FROM session_event WHERE session_id = ${session_id}),
                ${type}, ${response_id}, ${trace_id}, ${time}, ${made_by}, ${made_under}, ${randomBytes(60)})`)
  if (call.stored)
    await tx.rows(sql`
      INSERT INTO stored_response (id, project_id, trace_id, made_by, made_under, created_at, sequence, sealed, bytes)
      VALUES (${response_id}, ${project_id}, ${trace_id}, ${made_by}, ${made_under}, ${time}, ${nextSequence(now)},
              ${randomBytes(900)}, 900)`)
  if (call.kept)
    await tx.rows(sql`
      INSERT INTO idempotency (digest, project_id, state, owner, process, expires_at, sealed, bytes, trace_id, key_id)
      VALUES (${`digest of ${trace_id}`}, ${project_id}, 'kept', 'o', 'p', ${now + DAY_MS}, ${randomBytes(700)}, 700,
              ${trace_id}, ${made_by})`)
  if (call.recorded) await recording(tx, { project_id, trace_id, now }, maker)
  return { trace_id, response_id }
}

/** In a pack of its own: nothing of it is ever opened. */
async function recording(tx: Db, { project_id, trace_id, now }: Recorded, { made_by, made_under }: Maker) {
  await tx.rows(sql`
    INSERT INTO recording_pack (id, project_id, from_ms, until_ms, plain_bytes, packed_bytes, sealed)
    VALUES (${`pack of ${trace_id}`}, ${project_id}, ${now}, ${now}, 90, 60, ${randomBytes(88)})`)
  await tx.rows(sql`
    INSERT INTO recording (trace_id, project_id, key_id, made_by, made_under, endpoint, status, is_stream, at_ms,
                           request_bytes, answer_bytes, pack_id, starts_at)
    VALUES (${trace_id}, ${project_id}, ${made_by}, ${made_by}, ${made_under}, '/v1/chat/completions', 200, 0, ${now},
            40, 50, ${`pack of ${trace_id}`}, 0)`)
  // It was replayed, too.
  await tx.rows(sql`
    INSERT INTO replay_output (id, run_id, project_id, trace_id, key_id, made_under, created_ms, sequence, sealed, bytes)
    VALUES (${`replay/rpl_1/${trace_id}/target`}, 'rpl_1', ${project_id}, ${trace_id}, ${made_by}, ${made_under}, ${now},
            ${nextSequence(now)}, ${randomBytes(80)}, 80)`)
}

interface Recorded {
  project_id: string
  trace_id: string
  now: number
}

async function refusedCall(tx: Db, project_id: string, { made_by }: Maker, minutes: number): Promise<string> {
  const trace_id = newTraceId(at(minutes))
  await tx.rows(sql`
    INSERT INTO refused_call (trace_id, project_id, key_id, kind, at_ms, model, count, detail)
    VALUES (${trace_id}, ${project_id}, ${made_by}, 'upstream', ${at(minutes)}, 'm', 1, ${`{"said":"${WORDS}"}`})`)
  return trace_id
}

async function artifact(tx: Db, project_id: string, makers: readonly Maker[], minutes: number): Promise<string> {
  const [id, content_id] = [newId('art'), newId('art')]
  await tx.rows(sql`
    INSERT INTO artifact (id, project_id, kind, media_type, bytes, sha256, tokens_est, place, content_id, created_at,
                          sequence)
    VALUES (${id}, ${project_id}, 'text', 'text/plain', 50, ${id}, 10, 'database', ${content_id},
            ${rfc3339(at(minutes))}, ${nextSequence(NOON)})`)
  await tx.rows(sql`
    INSERT INTO artifact_content (content_id, part, sealed) VALUES (${content_id}, 0, ${randomBytes(78)})`)
  for (const { made_by, made_under } of new Set(makers))
    await tx.rows(sql`
      INSERT INTO artifact_maker (project_id, artifact_id, made_by, made_under)
      VALUES (${project_id}, ${id}, ${made_by}, ${made_under})`)
  return id
}

interface Made {
  minutes: number
  parts: readonly string[]
}

async function bundle(tx: Db, project_id: string, { made_by, made_under }: Maker, made: Made): Promise<string> {
  const id = newId('bnd')
  await tx.rows(sql`
    INSERT INTO bundle (id, project_id, prefix_hash, tokens_est, bytes, created_at, made_by, made_under, sequence)
    VALUES (${id}, ${project_id}, ${id}, 1, 1, ${rfc3339(at(made.minutes))}, ${made_by}, ${made_under},
            ${nextSequence(NOON)})`)
  for (const [position, artifact_id] of made.parts.entries())
    await tx.rows(sql`
      INSERT INTO bundle_item (project_id, bundle_id, position, role, artifact_id)
      VALUES (${project_id}, ${id}, ${position}, 'user', ${artifact_id})`)
  return id
}

const TABLES = [
  ...['stored_response', 'idempotency', 'session_event', 'agent_session', 'usage_event', 'refused_call'],
  ...['artifact', 'artifact_maker', 'artifact_content', 'artifact_loose_content', 'bundle', 'bundle_item'],
  ...['recording', 'recording_pack', 'replay_output'],
] as const
type Table = (typeof TABLES)[number]
type Row = Record<string, string | number | null | Uint8Array>
export type Contents = Record<Table, Row[]>

/** Every row of every table that contents lie in. */
export async function contentsOf(db: OpenDb): Promise<Contents> {
  const read = async (table: Table) => {
    const rows = await db.rows<Row>({ text: [`SELECT * FROM ${table}`], values: [] })
    const told = rows.map(plain).map((row) => ({ row, text: JSON.stringify(row) })) // once, not at each comparison
    return [table, told.sort((a, b) => (a.text < b.text ? -1 : 1)).map(({ row }) => row)]
  }
  return Object.fromEntries(await Promise.all(TABLES.map(read))) as Contents
}

const plain = (row: Row): Row =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
    ]),
  )

export interface Expected {
  after: Contents
  /** By kind. */
  counts: Record<string, number>
  /** As the receipt's digest is over them. */
  lines: string[]
}

/** What should be left of these contents, and what of each kind is gone. */
export function expected(before: Contents, world: World, filter: PurgeFilter, kinds: readonly string[]): Expected {
  const { project_id } = world
  const [from, until] = [
    filter.from === undefined ? 0 : Date.parse(filter.from),
    Math.min(filter.to === undefined ? NOON : Date.parse(filter.to), NOON),
  ]
  const lists = [filter.session_ids, filter.response_ids, filter.trace_ids, filter.artifact_ids, filter.bundle_ids]
  const isListed = lists.some((list) => list !== undefined)
  const has = (list: readonly string[] | undefined, id: unknown) => list?.includes(String(id)) ?? false
  const own = (table: Table) => before[table].filter((row) => row.project_id === project_id)
  const inTime = (ms: number) => ms >= from && ms < until
  const byKey = (...who: unknown[]) => filter.key_id === undefined || who.includes(filter.key_id)
  const underOf = (key: unknown) => world.makers.find(({ made_by }) => made_by === key)?.made_under
  const named = (is: boolean) => !isListed || is

  const traces = new Set(filter.trace_ids)
  if (isListed) {
    for (const row of own('session_event'))
      if (has(filter.session_ids, row.session_id) || has(filter.response_ids, row.response_id))
        traces.add(String(row.trace_id))
    for (const row of own('usage_event')) if (has(filter.session_ids, row.session_id)) traces.add(String(row.trace_id))
    for (const row of own('stored_response')) if (has(filter.response_ids, row.id)) traces.add(String(row.trace_id))
  }
  const traced = (row: Row) => traces.has(String(row.trace_id))
  const made = (row: Row) => inTime(Date.parse(String(row.created_at)))

  const matches: Record<string, (row: Row) => boolean> = {
    responses: (row) =>
      made(row) && byKey(row.made_by, row.made_under) && named(has(filter.response_ids, row.id) || traced(row)),
    kept_answers: (row) =>
      inTime(Number(row.expires_at) - DAY_MS) && byKey(row.key_id, underOf(row.key_id)) && named(traced(row)),
    session_events: (row) =>
      made(row) &&
      byKey(row.made_by, row.made_under) &&
      named(has(filter.session_ids, row.session_id) || has(filter.response_ids, row.response_id) || traced(row)),
    sessions: (row) =>
      made(row) &&
      byKey(row.made_by, row.made_under) &&
      named(has(filter.session_ids, row.id)) &&
      (isListed ||
        own('session_event').every((one) => one.session_id !== row.id || matches.session_events?.(one) === true)),
    bundles: (row) => made(row) && byKey(row.made_by, row.made_under) && named(has(filter.bundle_ids, row.id)),
    artifacts: (row) => {
      const makers = before.artifact_maker.filter(({ artifact_id }) => artifact_id === row.id)
      const alone = makers.length > 0 && makers.every((one) => byKey(one.made_by, one.made_under))
      return made(row) && (filter.key_id === undefined || alone) && named(has(filter.artifact_ids, row.id))
    },
    recordings: (row) =>
      inTime(Number(row.at_ms)) && byKey(row.key_id, row.made_by, row.made_under) && named(traced(row)),
    replay_outputs: (row) => inTime(Number(row.created_ms)) && byKey(row.key_id, row.made_under) && named(traced(row)),
    refused_calls: (row) => inTime(Number(row.at_ms)) && byKey(row.key_id, underOf(row.key_id)) && named(traced(row)),
    traces: (row) => inTime(Number(row.created_ms)) && byKey(row.key_id, underOf(row.key_id)) && named(traced(row)),
  }
  const gone = (kind: string, table: Table, id: string) =>
    new Set(kinds.includes(kind) ? own(table).flatMap((row) => (matches[kind]?.(row) ? [String(row[id])] : [])) : [])

  const erased = {
    responses: gone('responses', 'stored_response', 'id'),
    kept_answers: gone('kept_answers', 'idempotency', 'digest'),
    session_events: gone('session_events', 'session_event', 'id'),
    sessions: gone('sessions', 'agent_session', 'id'),
    bundles: gone('bundles', 'bundle', 'id'),
    artifacts: gone('artifacts', 'artifact', 'id'),
    recordings: gone('recordings', 'recording', 'trace_id'),
    replay_outputs: gone('replay_outputs', 'replay_output', 'id'),
    refused_calls: gone('refused_calls', 'refused_call', 'trace_id'),
    traces: gone('traces', 'usage_event', 'trace_id'),
    ...(kinds.includes('prefix_memory') && { prefix_memory: new Set([project_id]) }),
  }
  const brokenBundles = new Set(
    before.bundle_item.flatMap((row) => (erased.artifacts.has(String(row.artifact_id)) ? [String(row.bundle_id)] : [])),
  )
  const without = (table: Table, isGone: (row: Row) => boolean) => before[table].filter((row) => !isGone(row))
  const isIn = (set: Set<string>, field: string) => (row: Row) => set.has(String(row[field]))
  const contents = new Set(
    before.artifact.flatMap((row) => (erased.artifacts.has(String(row.id)) ? [String(row.content_id)] : [])),
  )
  const bundleGone = (id: unknown) => erased.bundles.has(String(id)) || brokenBundles.has(String(id))
  const after: Contents = {
    stored_response: without('stored_response', isIn(erased.responses, 'id')),
    idempotency: before.idempotency.map((row) =>
      erased.kept_answers.has(String(row.digest)) ? { ...row, state: 'erased', sealed: null, bytes: null } : row,
    ),
    session_event: without(
      'session_event',
      (row) => erased.session_events.has(String(row.id)) || erased.sessions.has(String(row.session_id)),
    ),
    agent_session: without('agent_session', isIn(erased.sessions, 'id')),
    usage_event: before.usage_event.map((row) => (erased.traces.has(String(row.trace_id)) ? wordless(row) : row)),
    refused_call: without('refused_call', isIn(erased.refused_calls, 'trace_id')),
    artifact: without('artifact', isIn(erased.artifacts, 'id')),
    artifact_maker: without('artifact_maker', isIn(erased.artifacts, 'artifact_id')),
    artifact_content: without('artifact_content', isIn(contents, 'content_id')),
    artifact_loose_content: before.artifact_loose_content,
    bundle: without('bundle', (row) => bundleGone(row.id)),
    bundle_item: without('bundle_item', (row) => bundleGone(row.bundle_id)),
    recording: without('recording', isIn(erased.recordings, 'trace_id')),
    replay_output: without('replay_output', isIn(erased.replay_outputs, 'id')),
    recording_pack: without('recording_pack', (row) => erased.recordings.has(String(row.id).slice('pack of '.length))),
  }
  const lines = Object.entries(erased).flatMap(([kind, ids]) => [...ids].map((id) => `${kind} ${id}`))
  return {
    after: sorted(after),
    counts: Object.fromEntries(Object.entries(erased).map(([kind, ids]) => [kind, ids.size])),
    lines: lines.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
  }
}

const sorted = (contents: Contents): Contents =>
  Object.fromEntries(
    Object.entries(contents).map(([table, rows]) => [
      table,
      [...rows].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
    ]),
  ) as Contents

function wordless(row: Row): Row {
  const attempts = (JSON.parse(String(row.attempts)) as { message?: string }[]).map(({ message: _m, ...rest }) => rest)
  return { ...row, session_id: null, trace: null, attempts: JSON.stringify(attempts) }
}
