// /v2/recordings: the exact bytes of generations, for whoever made the call, and for admins (R74).
import { isUtf8 } from 'node:buffer'
import type { FastifyReply } from 'fastify'
import { type Static, Type } from 'typebox'
import type { Caller } from '../core/caller.ts'
import { type Clock, rfc3339 } from '../core/clock.ts'
import { traceIdOf } from '../core/ids.ts'
import { madeByAnother, maySee } from '../core/maker.ts'
import { Refusal } from '../core/refusal.ts'
import { allows } from '../core/scopes.ts'
import { listOf } from '../core/shapes.ts'
import { wholeNumber } from '../core/text-values.ts'
import { onceClosed } from '../http/once-closed.ts'
import { page, type Routes } from '../http/routes.ts'
import { endWhereStalled } from '../http/unread-answers.ts'
import { firstOf, listEnvelope, sendWhole } from '../http/whole-list.ts'
import type { Db } from '../storage/db.ts'
import type { KeptRecordings } from './kept-recording-store.ts'
import {
  DROPPED_FOR,
  DroppedRecordings,
  entryOf,
  keptSince,
  PAGE_MAX,
  type RecordedText,
  type Recording,
  RecordingEntry,
  RecordingsQuery,
  RecordingView,
  type StoredEntry,
} from './recording.ts'
import { recordingStore } from './recording-store.ts'

const Params = Type.Object({
  trace_id: Type.String({ description: 'Begins `trc_` or `req_`: `Agent-Trace-Id` or `x-request-id` of the answer.' }),
})
const watch = { scope: 'read', class: 'read' } as const
const tags = ['Recordings']
const MIB = 2 ** 20
const TEXT_MAX_BYTES = MIB

const List = Type.Object({
  ...listOf(RecordingEntry).properties,
  dropped: Type.Array(DroppedRecordings, { description: 'How many calls were not recorded though they were to be.' }),
})

interface Needs {
  clock: Clock
  recordings: KeptRecordings
  gateway: { retention_days: number }
}

export const recordingRoutes: Routes<Needs> = async (app, { clock, recordings, gateway }) => {
  const since = () => keptSince(clock.now(), gateway.retention_days)

  /** Without its bytes, whether it is in the store yet or not. */
  const entry = async (db: Db, { project_id }: Caller, trace_id: string): Promise<StoredEntry | undefined> =>
    (await recordings.entryInMemory(project_id, trace_id)) ?? recordingStore(db).find(project_id, trace_id, since())

  async function dropsOf(db: Db, project_id: string): Promise<DroppedRecordings[]> {
    const drops = await recordingStore(db).drops(project_id, since(), clock.now())
    return drops.map(({ reason, count, hour_ms }) => ({
      ...{ reason, meaning: DROPPED_FOR[reason], count },
      last_at: rfc3339(hour_ms),
    }))
  }

  const missing = async (db: Db, { project_id }: Caller, trace_id: string) =>
    new Refusal('not_found', `No recording of '${trace_id}'. ${await recordings.whyNone(db, project_id, trace_id)}`)

  /** Both, for whoever may see them; the memory that they take is given back with the answer. */
  async function visible(db: Db, caller: Caller, named: string, take: Takes) {
    const trace_id = named.startsWith('req_') ? traceIdOf(named) : named
    const stored = await entry(db, caller, trace_id)
    if (!stored) throw await missing(db, caller, trace_id)
    if (!maySee(caller, stored)) throw madeByAnother(`The recording of '${trace_id}'`)
    const recording = await recordings.read(caller.project_id, trace_id, { take })
    if (!recording) throw await missing(db, caller, trace_id)
    return { stored, recording }
  }

  const takingOf = (caller: Caller, reply: Pick<FastifyReply, 'raw'>): Takes => {
    const place = recordings.room.place(caller.project_id)
    endWhereStalled(reply.raw)
    return (bytes) => {
      place.take(bytes)
      onceClosed(reply.raw, place.giveBack)
    }
  }

  app.get(
    '/v2/recordings',
    {
      config: watch,
      schema: {
        tags,
        summary: 'List recordings',
        description:
          'Newest first, without their bytes; with a key below `admin`, those that it made. With `limit`, at most so ' +
          'many: `after` with the last trace id gives more. What was just answered comes a second later. `dropped` ' +
          'tells of the whole project.',
        querystring: RecordingsQuery,
        response: { 200: List },
      },
    },
    async ({ caller, query, db }, reply) => {
      const { limit, ...asked } = await askedIn(query, (id) => entry(db, caller, id))
      const made_by = allows(caller.scopes, 'admin') ? undefined : (caller.person_id ?? caller.key_id)
      const all = recordingStore(db).list(caller.project_id, { since_ms: since(), made_by, ...asked })
      const dropped = await dropsOf(db, caller.project_id)
      if (limit !== undefined) {
        const { object, data, has_more } = page(await firstOf(all, limit + 1), limit)
        return { object, data: data.map((one) => entryOf(one, gateway.retention_days)), has_more, dropped }
      }
      const told = listEnvelope<StoredEntry>((one) => JSON.stringify(entryOf(one, gateway.retention_days)))
      return sendWhole(reply, all, { ...told, tail: `],"has_more":false,"dropped":${JSON.stringify(dropped)}}` })
    },
  )

  app.get(
    '/v2/recordings/:trace_id',
    {
      config: watch,
      schema: {
        tags,
        summary: 'Retrieve a recording',
        description:
          'What the client sent and what it was sent, as text. Needs the key that made the call, or `admin`. Where ' +
          'there is none, the message of the 404 says why.',
        params: Params,
        response: { 200: RecordingView },
      },
    },
    async ({ caller, params, db }, reply) => {
      const { stored, recording } = await visible(db, caller, params.trace_id, takingOf(caller, reply))
      return {
        ...entryOf(stored, gateway.retention_days),
        request: textOf(recording.request),
        answer: textOf(recording.answer),
      }
    },
  )

  for (const part of ['request', 'answer'] as const)
    app.get(
      `/v2/recordings/:trace_id/${part}`,
      {
        config: watch,
        schema: {
          tags,
          summary: `Retrieve the bytes of a recorded ${part}`,
          description: 'Exactly as they were, and always an attachment.',
          params: Params,
          response: {
            200: { description: 'The bytes.', content: { '*/*': { schema: Type.String({ format: 'binary' }) } } },
          },
        },
      },
      async ({ caller, params, db }, reply) => {
        const { recording } = await visible(db, caller, params.trace_id, takingOf(caller, reply))
        reply.headers(headersOf(recording, part))
        return reply.send(Buffer.from(recording[part]) as never)
      },
    )
}

type Takes = (bytes: number) => void

/** Whatever it is, a browser neither shows nor runs it. */
const headersOf = ({ trace_id }: Recording, part: 'request' | 'answer') => ({
  'content-type': 'application/octet-stream',
  'content-disposition': `attachment; filename="${trace_id}.${part}"`,
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
})

function textOf(bytes: Uint8Array): RecordedText {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const encoding = isUtf8(buffer) ? ('utf-8' as const) : ('base64' as const)
  const text = bytes.length > TEXT_MAX_BYTES ? null : buffer.toString(encoding === 'utf-8' ? 'utf8' : 'base64')
  return { bytes: bytes.length, encoding, text }
}

async function askedIn(
  { limit, after }: Static<typeof RecordingsQuery>,
  find: (id: string) => Promise<StoredEntry | undefined>,
) {
  const behind = after === undefined ? undefined : await find(after)
  if (after !== undefined && !behind)
    throw new Refusal('invalid_request', "'after' must be the trace id of a recording.")
  return {
    after: behind,
    limit: limit === undefined ? undefined : wholeNumber('limit', limit, { minimum: 1, maximum: PAGE_MAX }),
  }
}
