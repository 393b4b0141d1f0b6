// The judge of the money run, judged: each kind of violation is found, and what is right is left alone.
import { describe, expect, test } from 'vitest'
import type { MoneyAsk } from '../torture/money-asks.ts'
import { checkMoney, type MoneyCheck, type MoneyHistory } from '../torture/money-checker.ts'
import type { Sent } from '../torture/money-client.ts'
import type { Execution } from '../torture/upstream-process.ts'

const ask = (change: Partial<MoneyAsk> = {}): MoneyAsk => ({
  call: 'c1',
  payer: 0,
  keyed: 'k1',
  stream: false,
  model: 'both',
  plan: { first: {}, second: {} },
  deadline_ms: undefined,
  leaving: { kind: 'stays' },
  cost_micros: 30,
  ...change,
})
const sent = (change: Partial<Sent> = {}): Sent => ({
  ...{ call: 'c1', payer: 0, keyed: true, retry: false, status: 200, type: undefined, trace_id: 't1' },
  ...{ replayed: false, whole: true, charged_micros: 30, body_hash: 'h1' },
  ...change,
})
const cutOff = () => sent({ status: undefined, trace_id: undefined, whole: false, charged_micros: undefined })
const refused = (status: number, type: string, change: Partial<Sent> = {}) =>
  sent({ status, type, whole: false, charged_micros: undefined, body_hash: undefined, ...change })
const executed = (trace_id = 't1'): Execution => ({
  ...{ call: 'c1', trace_id, provider: 'first', produced: true, ended: 'answered', ended_at: 1 },
})
const event = (trace_id = 't1', change: Partial<MoneyHistory['books']['events'][number]> = {}) => ({
  ...{ trace_id, call: 'c1', key_id: 'key_1', status: 'completed', charged_micros: 30 },
  ...change,
})

function history(change: Partial<MoneyHistory> = {}, books: Partial<MoneyHistory['books']> = {}): MoneyHistory {
  const events = books.events ?? [event()]
  const spent_micros = events.reduce((sum, one) => sum + one.charged_micros, 0)
  return {
    payers: [{ id: 'key_1', raw: 'r', budget_micros: 1_000, ample: true }],
    asks: [ask()],
    sent: [sent()],
    executions: [executed()],
    probes: [{ key_id: 'key_1', fits: true, status: 200, type: undefined }],
    was_patient: true,
    dearest_micros: 500,
    books: {
      keys: [{ id: 'key_1', spent_micros, held_micros: 0 }],
      project: { spent_micros, held_micros: 0 },
      holds: [],
      events,
      ...books,
    },
    ...change,
  }
}

const found = (one: MoneyHistory) =>
  Object.entries(checkMoney(one)).flatMap(([name, lines]) => (lines.length > 0 ? [name as MoneyCheck] : []))

const twice = { events: [event('t1'), event('t2')] }
const failedThenDone = { events: [event('t0', { status: 'failed', charged_micros: 0 }), event()] }

describe('R43 histories that are right', () => {
  const right: [string, MoneyHistory][] = [
    ['charged once, told once', history()],
    ['a replay tells the same', history({ sent: [cutOff(), sent({ replayed: true, retry: true })] })],
    [
      'failed, then executed under the same key',
      history({ sent: [refused(502, 'server_error'), sent()] }, failedThenDone),
    ],
    ['a client that left pays for what was produced, and saw nothing of it', left()],
    ['killed before it was settled, not keyed: executed, not charged', unsettled()],
    ['a 409 from a process that died, where nobody waited', reserved(false)],
  ]
  test.each(right)('%s', (_case, one) => expect(found(one)).toEqual([]))
})

function left(): MoneyHistory {
  const asks = [ask({ keyed: undefined })]
  return history({ asks, sent: [cutOff()] }, { events: [event('t1', { status: 'client_left', charged_micros: 12 })] })
}
const unsettled = () => history({ asks: [ask({ keyed: undefined })], sent: [cutOff()] }, { events: [] })
const reserved = (was_patient: boolean) =>
  history({ was_patient, sent: [cutOff(), refused(409, 'idempotency_conflict')] }, { events: [] })

describe('R43 histories that are wrong', () => {
  const keys = (change: object) => [{ id: 'key_1', spent_micros: 30, held_micros: 0, ...change }]
  const wrong: [string, MoneyHistory, MoneyCheck[]][] = [
    ['a hold that nobody settles', history({}, { holds: [{ id: 'hld_1', micros: 5 }] }), ['phantom_holds']],
    ['a key that still holds', history({}, { keys: keys({ held_micros: 5 }) }), ['phantom_holds']],
    ['more given back than held', history({}, { keys: keys({ held_micros: -5 }) }), ['phantom_holds']],
    [
      'a key that spent what no event says',
      history({}, { keys: keys({ spent_micros: 60 }), project: { spent_micros: 60, held_micros: 0 } }),
      ['spent_unlike_events'],
    ],
    [
      'a project that spent other than its keys',
      history({}, { project: { spent_micros: 31, held_micros: 0 } }),
      ['project_unlike_keys'],
    ],
    ['a charge told otherwise', history({ sent: [sent({ charged_micros: 29 })] }), ['told_unlike_booked']],
    ['an answer without an event', history({}, { events: [] }), ['told_unlike_booked']],
    [
      'an answer that tells no charge',
      history({ sent: [sent({ charged_micros: undefined })] }),
      ['told_unlike_booked'],
    ],
    [
      'more than the limit',
      history({ payers: [{ id: 'key_1', raw: 'r', budget_micros: 29, ample: true }] }),
      ['overspent'],
    ],
    ['a keyed call charged twice', history({ executions: [executed(), executed('t2')] }, twice), ['charged_twice']],
    [
      'one that was sent once, charged twice',
      history({ asks: [ask({ keyed: undefined })], executions: [executed(), executed('t2')] }, twice),
      ['charged_twice'],
    ],
    ['two events under one trace', history({}, { events: [event(), event()] }), ['charged_twice']],
    ['a charge for what was never executed', history({ executions: [] }), ['charged_for_nothing']],
    [
      'a charge for what failed',
      history({ sent: [sent()] }, { events: [event('t1', { status: 'upstream_failed' })] }),
      ['charged_for_nothing'],
    ],
    [
      'another price than the upstream’s usage has',
      history({ sent: [sent({ charged_micros: 31 })] }, { events: [event('t1', { charged_micros: 31 })] }),
      ['mispriced'],
    ],
    [
      'a key with more than enough, refused',
      history({ sent: [sent(), refused(429, 'quota_exceeded')] }),
      ['wrong_refusals'],
    ],
    [
      'a probe that fits, refused',
      history({ probes: [{ key_id: 'key_1', fits: true, status: 429, type: 'quota_exceeded' }] }),
      ['wrong_refusals'],
    ],
    [
      'a probe that does not fit, served',
      history({ probes: [{ key_id: 'key_1', fits: false, status: 200, type: undefined }] }),
      ['admitted_beyond'],
    ],
    ['new twice', history({ sent: [sent(), sent({ retry: true })] }), ['executed_twice']],
    [
      'a replay of other bytes',
      history({ sent: [sent(), sent({ replayed: true, body_hash: 'h2' })] }),
      ['executed_twice'],
    ],
    ['a key that stays locked', reserved(true), ['unanswered']],
    ['a fault', history({ sent: [refused(500, 'server_error'), sent()] }), ['unexpected']],
    ['a 504 that no deadline explains', history({ sent: [refused(504, 'deadline_exceeded'), sent()] }), ['unexpected']],
  ]
  test.each(wrong)('%s', (_case, one, expected) => expect(found(one)).toEqual(expected))
})
