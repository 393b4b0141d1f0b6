// Sends one generation, leaves where its ask says so, and records what the client got to see of it.
import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Heard, hintsHeader, moneyIn, openCall } from '../support/inference-client.ts'
import { bodyOf, type MoneyAsk } from './money-asks.ts'

/** One request, as its client saw it. */
export interface Sent {
  call: string
  payer: number
  keyed: boolean
  retry: boolean
  /** Undefined where not even a head came. */
  status: number | undefined
  type: string | undefined
  trace_id: string | undefined
  replayed: boolean
  /** A clean end: all of the answer, and no error event in it. */
  whole: boolean
  charged_micros: number | undefined
  body_hash: string | undefined
}

export interface Payer {
  id: string
  raw: string
  budget_micros: number | undefined
  /** Enough for everything that the run could ever ask: it is never right to refuse it. */
  ample: boolean
}

const GIVE_UP_MS = 15_000

export async function send(origin: string, ask: MoneyAsk, payer: Payer, retry = false): Promise<Sent> {
  const call = openCall(origin, '/v1/chat/completions', {
    body: bodyOf(ask, retry),
    headers: {
      authorization: `Bearer ${payer.raw}`,
      'x-session-id': ask.call,
      ...(ask.keyed && { 'agent-idempotency-key': ask.keyed }),
      ...(ask.deadline_ms !== undefined && !retry && hintsHeader({ qos: { deadline_ms: ask.deadline_ms } })),
    },
  })
  if (!retry) leaveAsAsked(call, ask)
  const patience = setTimeout(() => call.leave(), GIVE_UP_MS)
  const heard = await call.heard.catch(() => undefined)
  clearTimeout(patience)
  return { call: ask.call, payer: ask.payer, keyed: ask.keyed !== undefined, retry, ...seen(heard, ask.stream) }
}

function leaveAsAsked(call: ReturnType<typeof openCall>, { leaving }: MoneyAsk): void {
  if (leaving.kind === 'early') void sleep(leaving.after_ms).then(call.leave)
  if (leaving.kind !== 'midway') return
  let read = 0
  call.head.then(
    (response) =>
      response.on('data', (part: Buffer) => {
        read += part.length
        if (read >= leaving.after_bytes) call.leave()
      }),
    () => {},
  )
}

type Seen = Pick<Sent, 'status' | 'type' | 'trace_id' | 'replayed' | 'whole' | 'charged_micros' | 'body_hash'>

function seen(heard: Heard | undefined, stream: boolean): Seen {
  if (!heard) {
    const nothing = { status: undefined, type: undefined, trace_id: undefined, charged_micros: undefined }
    return { ...nothing, body_hash: undefined, replayed: false, whole: false }
  }
  const { status, headers, complete, text, json } = heard
  const whole = complete && status === 200 && (!stream || text.endsWith('data: [DONE]\n\n'))
  return {
    status,
    type: json?.error?.type,
    trace_id: headers['agent-trace-id'],
    replayed: headers['agent-idempotent-replay'] === 'true',
    whole,
    charged_micros: moneyIn(heard),
    body_hash: whole ? hash('sha256', text) : undefined,
  }
}
