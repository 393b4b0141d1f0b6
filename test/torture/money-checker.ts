// Judges the history of a money run against the books that it left (R26, R42, R43, §11.4). Pure.
import type { MoneyAsk } from './money-asks.ts'
import type { Payer, Sent } from './money-client.ts'
import type { Execution } from './upstream-process.ts'

/** What the store says at the end, when nothing is under way. */
export interface Books {
  keys: { id: string; spent_micros: number; held_micros: number }[]
  project: { spent_micros: number; held_micros: number }
  holds: { id: string; micros: number }[]
  /** `call` is the logical call, which went along as the session's name. */
  events: { trace_id: string; call: string; key_id: string; status: string; charged_micros: number }[]
}

/** A call made at the end with a key that still had money, or had not. */
export interface Probe {
  key_id: string
  /** Its dearest outcome is no more than what is left. */
  fits: boolean
  status: number
  type: string | undefined
}

export interface MoneyHistory {
  payers: readonly Payer[]
  asks: readonly MoneyAsk[]
  sent: readonly Sent[]
  executions: readonly Execution[]
  probes: readonly Probe[]
  books: Books
  /** Every keyed call was asked for again until a dead process's reservation had lapsed. */
  was_patient: boolean
  /** The most that any one call of the run could be charged. */
  dearest_micros: number
}

export const MONEY_CHECKS = {
  phantom_holds: 'phantom holds',
  spent_unlike_events: 'keys whose spending is not the sum of their events',
  project_unlike_keys: 'project spending that is not the sum of its keys',
  told_unlike_booked: 'answers whose charge is not in the books as told',
  overspent: 'limits exceeded',
  charged_twice: 'calls charged twice',
  charged_for_nothing: 'charges for what no upstream executed, or for what failed',
  mispriced: 'completed calls charged other than their price',
  wrong_refusals: 'refusals for want of budget that was there',
  admitted_beyond: 'calls admitted beyond the budget',
  executed_twice: 'keyed calls answered as new twice, or with other bytes',
  unanswered: 'keyed calls that never came to their answer',
  unexpected: 'answers that nothing in the run explains',
} as const

export type MoneyCheck = keyof typeof MONEY_CHECKS
export type MoneyVerdict = Record<MoneyCheck, string[]>

export function checkMoney(history: MoneyHistory): MoneyVerdict {
  return {
    ...checkBooks(history),
    ...checkCharges(history),
    ...checkRefusals(history),
    ...checkAnswers(history),
  }
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)
const charged = (events: Books['events']) => sum(events.map(({ charged_micros }) => charged_micros))

function grouped<T>(things: readonly T[], by: (thing: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const thing of things) {
    const group = groups.get(by(thing))
    if (group) group.push(thing)
    else groups.set(by(thing), [thing])
  }
  return groups
}

function checkBooks({ books, payers, sent }: MoneyHistory) {
  const { keys, project, holds, events } = books
  const byKey = grouped(events, ({ key_id }) => key_id)
  const byTrace = new Map(events.map((event) => [event.trace_id, event]))
  const held = [...keys.map(({ id, held_micros }) => ({ id, held_micros })), { id: 'the project', ...project }]
  const spent_by_keys = sum(keys.map(({ spent_micros }) => spent_micros))
  return {
    phantom_holds: [
      ...holds.map(({ id, micros }) => `${id}: ${micros}`),
      ...held.filter(({ held_micros }) => held_micros !== 0).map((one) => `${one.id} holds ${one.held_micros}`),
    ],
    spent_unlike_events: keys
      .map(({ id, spent_micros }) => ({ id, spent_micros, in_events: charged(byKey.get(id) ?? []) }))
      .filter(({ spent_micros, in_events }) => spent_micros !== in_events)
      .map(({ id, spent_micros, in_events }) => `${id} spent ${spent_micros}, its events say ${in_events}`),
    project_unlike_keys:
      spent_by_keys === project.spent_micros ? [] : [`${project.spent_micros}, but the keys ${spent_by_keys}`],
    told_unlike_booked: sent.flatMap(({ call, status, whole, trace_id = '', charged_micros }) => {
      if (whole && charged_micros === undefined) return [`${call}: a whole answer that does not tell its charge`]
      const booked = byTrace.get(trace_id)?.charged_micros
      if (status !== 200 || charged_micros === undefined || charged_micros === booked) return []
      return [`${call} (${trace_id}) was told ${charged_micros}, booked ${booked}`]
    }),
    overspent: payers.flatMap(({ id, budget_micros = Number.MAX_SAFE_INTEGER }) => {
      const spent_micros = keys.find((key) => key.id === id)?.spent_micros ?? 0
      return spent_micros > budget_micros ? [`${id} spent ${spent_micros} of ${budget_micros}`] : []
    }),
  }
}

const PAID = ['completed', 'client_left']

function checkCharges({ books: { events }, asks, executions, dearest_micros }: MoneyHistory) {
  const byCall = grouped(events, ({ call }) => call)
  const produced = grouped(
    executions.filter((one) => one.produced),
    ({ trace_id }) => trace_id,
  )
  const traces = grouped(events, ({ trace_id }) => trace_id)
  const costs = new Map(asks.map(({ call, cost_micros }) => [call, cost_micros]))
  return {
    charged_twice: [
      ...[...traces].filter(([, same]) => same.length > 1).map(([trace_id]) => `${trace_id} has two events`),
      ...asks.flatMap(({ call, keyed }) => {
        const own = byCall.get(call) ?? []
        // Without a key it was sent once; with one it may fail and be asked for again, but is paid for once.
        const paid = keyed ? own.filter(({ charged_micros }) => charged_micros > 0) : own
        return paid.length > 1 ? [`${call} has ${paid.length} events: ${paid.map((one) => one.trace_id)}`] : []
      }),
    ],
    charged_for_nothing: events
      .filter((one) => one.charged_micros > 0 && !(PAID.includes(one.status) && produced.has(one.trace_id)))
      .map(({ trace_id, status, charged_micros }) => `${trace_id} ${status}: ${charged_micros}`),
    mispriced: events.flatMap(({ call, trace_id, status, charged_micros }) => {
      const cost = costs.get(call)
      if (charged_micros > dearest_micros) return [`${trace_id}: ${charged_micros}, more than was held`]
      if (status !== 'completed' || cost === undefined || charged_micros === cost) return []
      return [`${trace_id}: ${charged_micros}, not ${cost}`]
    }),
  }
}

function checkRefusals({ payers, sent, probes }: MoneyHistory) {
  const told = ({ key_id, status, type }: Probe) => `${key_id}: ${status} ${type ?? ''}`
  return {
    wrong_refusals: [
      ...sent
        .filter(({ payer, type }) => type === 'quota_exceeded' && payers[payer]?.ample)
        .map(({ call }) => `${call} was refused, though its key has more than enough`),
      ...probes.filter(({ fits, status }) => fits && status !== 200).map(told),
    ],
    admitted_beyond: probes.filter(({ fits, type }) => !fits && type !== 'quota_exceeded').map(told),
  }
}

function checkAnswers({ payers, asks, sent, was_patient }: MoneyHistory) {
  const byCall = grouped(sent, ({ call }) => call)
  const keyed = asks.filter((ask) => ask.keyed !== undefined)
  const hasDeadline = new Set(asks.filter((ask) => ask.deadline_ms !== undefined).map(({ call }) => call))
  return {
    executed_twice: keyed.flatMap(({ call }) => {
      const whole = (byCall.get(call) ?? []).filter((one) => one.whole)
      const first = whole.filter(({ replayed }) => !replayed).length
      const differs = new Set(whole.map(({ body_hash, trace_id }) => `${trace_id} ${body_hash}`)).size
      return first > 1 || differs > 1 ? [`${call}: ${first} times new, ${differs} different answers`] : []
    }),
    unanswered: keyed.flatMap(({ call, payer }) => {
      const own = byCall.get(call) ?? []
      const last = own.at(-1)
      const isRefused = last?.type === 'quota_exceeded' && !payers[payer]?.ample
      const isReserved = last?.status === 409 && !was_patient // by a process that was killed less than a minute ago
      const isAnswered = own.some(({ whole }) => whole)
      return isAnswered || isRefused || isReserved ? [] : [`${call}: ${own.map(({ status }) => status).join(', ')}`]
    }),
    unexpected: sent.flatMap(({ call, status, type, retry, keyed }) => {
      const explained =
        status === undefined ||
        [200, 502, 503].includes(status) ||
        (status === 409 && keyed) ||
        (status === 504 && !retry && hasDeadline.has(call)) ||
        (status === 429 && ['quota_exceeded', 'rate_limit_error'].includes(type ?? ''))
      return explained ? [] : [`${call}: ${status} ${type}`]
    }),
  }
}
