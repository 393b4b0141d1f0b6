// §11 judged from outside: a recorded history of keyed POSTs, and what the store holds at the end. Pure: it neither
// sends nor reads anything, so the same history always gets the same verdict.

/** What one request came to. `unknown`: it was cut off before a whole answer, so it may or may not have happened. */
export type Outcome = 'ok' | 'fail' | 'unknown'

export interface Operation {
  path: string
  key: string
  /** The unique name that the body asks for: the mark by which the effect is found again in the store. */
  name: string
  invoked_ms: number
  /** When the answer was whole, or when the client lost or left the connection. */
  settled_ms: number
  outcome: Outcome
  status?: number
  replayed?: boolean
  /** Of the status, the content type and every byte of the body. */
  answer_hash?: string
  /** What is wrong with the form of a refusal. */
  malformed?: string
  /** The created resource as a 2xx told of it. */
  resource?: Resource
}

export interface Resource {
  path: string
  id: string
  name: string
  /** Of the fields that never change after creation and are shown both at creation and in a list. */
  fields_hash: string
}

export interface History {
  operations: readonly Operation[]
  /** Everything that the store lists at the end. */
  stored: readonly Resource[]
}

export const CHECKS = {
  lost: 'acknowledged effects lost or altered',
  doubled: 'effects done twice',
  differing: 'replays that differ by a byte',
  twice_first: 'second answers not marked as replay',
  server_errors: '5xx answers',
  unexpected: 'answers other than 2xx and 409',
  stuck: '409s though nobody is at work',
  unanswered: 'keys never answered with 2xx',
  strangers: 'effects that nobody asked for',
} as const

export type CheckName = keyof typeof CHECKS

/** For each check, one line for each violation. */
export type Verdict = Record<CheckName, string[]>

const STUCK_MS = 5_000 // the last statement of a process that was killed runs on in PostgreSQL for up to 4 s

export function check({ operations, stored }: History): Verdict {
  const byTriple = groupBy(operations, (one) => `${one.path} ${one.key}`)
  const byName = groupBy(stored, (one) => `${one.path} ${one.name}`)
  const verdict = Object.fromEntries(Object.keys(CHECKS).map((name) => [name, [] as string[]])) as Verdict

  for (const [triple, attempts] of byTriple) {
    const effects = [...new Set(attempts.map((one) => `${one.path} ${one.name}`))].flatMap((of) => byName.get(of) ?? [])
    for (const [name, violation] of judge(attempts, effects)) verdict[name].push(`${triple}: ${violation}`)
  }
  const asked = new Set(operations.map((one) => `${one.path} ${one.name}`))
  for (const [named, { length }] of byName) if (!asked.has(named)) verdict.strangers.push(`${named}: ${length} stored`)
  return verdict
}

export const violations = (verdict: Verdict) => Object.values(verdict).reduce((sum, { length }) => sum + length, 0)

type Violation = [CheckName, string]

/** Everything that was ever sent with one triple, against the effects that carry its name. */
function judge(attempts: readonly Operation[], effects: readonly Resource[]): Violation[] {
  const answered = attempts.filter((one) => one.outcome === 'ok')
  const found: Violation[] = [...refusals(attempts), ...absences(answered, effects)]
  if (effects.length > 1)
    found.push(['doubled', `${effects.length} stored: ${effects.map((one) => one.id).join(', ')}`])

  const answers = new Set(answered.map((one) => one.answer_hash))
  if (answers.size > 1) found.push(['differing', `${answers.size} different answers`])
  const firsts = answered.filter((one) => !one.replayed).length
  if (firsts > 1) found.push(['twice_first', `${firsts} answers say that they executed`])
  if (answered.length === 0) found.push(['unanswered', `${attempts.length} attempts`])
  return found
}

/** What was acknowledged must be there, as it was acknowledged. */
function absences(answered: readonly Operation[], effects: readonly Resource[]): Violation[] {
  const acknowledged = new Map(answered.map(({ resource }) => [resource?.id, resource]))
  return [...acknowledged].flatMap(([id, resource]): Violation[] => {
    const effect = effects.find((one) => one.id === id)
    if (!effect) return [['lost', `${id ?? 'an answer without an id'} is not stored`]]
    return effect.fields_hash === resource?.fields_hash ? [] : [['lost', `${id} is stored otherwise`]]
  })
}

function refusals(attempts: readonly Operation[]): Violation[] {
  return attempts.flatMap((one): Violation[] => {
    const { outcome, status = 0 } = one
    if (outcome !== 'fail') return []
    if (status >= 500) return [['server_errors', `${status}`]]
    if (status !== 409) return [['unexpected', `${status}`]]
    return isJustified(one, attempts) ? [] : [['stuck', `409 at ${Math.round(one.invoked_ms)} ms`]]
  })
}

/** A 409 claims that the triple is being executed: by somebody who has not answered yet, or left a moment ago. */
function isJustified(conflict: Operation, attempts: readonly Operation[]): boolean {
  const isAnswered = attempts.some((other) => other.outcome === 'ok' && other.settled_ms < conflict.invoked_ms)
  const isAtWork = attempts.some(
    (other) =>
      other.status !== 409 &&
      other.invoked_ms <= conflict.settled_ms &&
      other.settled_ms + STUCK_MS >= conflict.invoked_ms,
  )
  return isAtWork && !isAnswered
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group) group.push(item)
    else groups.set(key, [item])
  }
  return groups
}
