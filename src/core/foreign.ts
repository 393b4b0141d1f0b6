// R77: how much of what comes from outside may be read. Whatever a client, a cluster or an upstream sends has a budget
// here, in bytes, in depth and in members, and nothing foreign is read without one. What is small is parsed at once;
// what is large, in steps, with everybody else's work in between (json-steps.ts, turns.ts).
import { jsonIn, jsonOrNone } from './json-bytes.ts'
import { jsonInSteps } from './json-steps.ts'
import { type Bounds, isBeyond, partsIn } from './json-survey.ts'
import { inTurns } from './turns.ts'

const KIB = 1024
const MIB = 1024 * KIB

export interface Budget extends Bounds {
  bytes: number
}

const PARTS_MAX = 250_000 // R77
const VALUES_MAX = 2 ** 20 // a prompt as numbers, for models that take in a million tokens
const WIDTH_MAX = 16_384
/** Whatever walks through a value recurses. */
const REQUEST_LEVELS_MAX = 64
const ANSWER_LEVELS_MAX = 256

const asked = { levels: REQUEST_LEVELS_MAX, parts: PARTS_MAX, values: VALUES_MAX, width: WIDTH_MAX }
const answered = { levels: ANSWER_LEVELS_MAX, parts: PARTS_MAX, values: VALUES_MAX, width: WIDTH_MAX }

export const BUDGETS = {
  /** A body of the control plane; heartbeats are such bodies. */
  body: { bytes: 64 * KIB, ...asked },
  /** Images travel inside bodies. */
  generation: { bytes: 16 * MIB, ...asked },
  /** What was put together here of what was read before, such as a conversation with all that came before it. */
  own: {
    bytes: 64 * MIB,
    levels: 2 * ANSWER_LEVELS_MAX,
    parts: 8 * PARTS_MAX,
    values: 8 * VALUES_MAX,
    width: WIDTH_MAX,
  },
  /** An upstream's whole answer. */
  answer: { bytes: 16 * MIB, ...answered }, // R77
  /** One event of an upstream's stream. */
  event: { bytes: MIB, ...answered }, // R77
  /** An error that is handed on: one that says more is no envelope that any client knows. */
  envelope: { bytes: 64 * KIB, ...answered },
  /** What is read of a failure for people to see. */
  said: { bytes: 16 * KIB, ...answered },
  /** What an upstream says it serves. */
  models: { bytes: 4 * MIB, ...answered },
} as const satisfies Record<string, Budget>

/** All events of a stream together: beyond any generation there is, it only stops an upstream that never stops. */
export const STREAM_MAX_BYTES = 256 * MIB

/** What is held of a stream that is kept or stored. A hundred thousand tokens, each in an event, are half of it. */
export const KEPT_STREAM_MAX_BYTES = 64 * MIB

/** So much is parsed in a few milliseconds, whatever it holds. */
export const AT_ONCE_BYTES = 64 * KIB
/** And so much where it is mostly long texts, as conversations are. */
const FEW_PARTS_BYTES = MIB
const FEW_PARTS = 10_000

/** It has more bytes, levels or members than its budget. */
export class BeyondBudget extends Error {
  override readonly name = 'BeyondBudget'
}

export const isLarge = (json: Buffer) => json.length > AT_ONCE_BYTES

/** Throws where it is no JSON, or beyond its budget. A promise of the value where parsing it at once took too long. */
export function jsonWithin(budget: Budget, json: Buffer): unknown {
  if (json.length > budget.bytes) throw new BeyondBudget(`more than ${budget.bytes} bytes`)
  if (json.length > FEW_PARTS_BYTES) return inSteps(budget, json)
  const parts = partsIn(budget, json)
  if (parts === undefined) throw beyond(budget)
  return isLarge(json) && parts > FEW_PARTS ? inSteps(budget, json) : jsonIn(json)
}

/** The same of what may be anything: undefined where it is no JSON, or beyond its budget. */
export async function jsonWithinOrNone(budget: Budget, json: Buffer): Promise<unknown> {
  try {
    return await jsonWithin(budget, json)
  } catch {
    return undefined
  }
}

/** Of something small that may be anything: undefined where it is no JSON, or beyond its budget. */
export const smallJsonOrNone = (budget: Budget, json: Buffer) =>
  json.length > AT_ONCE_BYTES || isBeyond(budget, json) ? undefined : jsonOrNone(json)

const inSteps = (budget: Budget, json: Buffer) => inTurns(jsonInSteps(json, budget, () => beyond(budget)))

const beyond = (budget: Budget) => new BeyondBudget(toldBounds(budget))

/** In words, for whoever is told that it was too much. */
export const toldBounds = ({ levels, parts, values, width }: Bounds) =>
  `more than ${levels} levels, ${amount(parts)} objects, arrays and members, ${amount(width)} members of one object ` +
  `or ${amount(values)} values`

const amount = (count: number) => count.toLocaleString('en')
