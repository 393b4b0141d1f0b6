// §8.1, R51: the numbers of the three layers, as switchyard.yaml may set them. The defaults are generous: a script with
// one key that makes a hundred calls a second from one address is never refused, even if a whole minute's come at once.
import { type Static, Type } from 'typebox'
import type { Caller, OwnLimits } from '../core/caller.ts'
import { OperatorModelRates } from './model-rates.ts'

const closed = { additionalProperties: false, default: {} }

export const LIMIT_MAX = 1_000_000_000

const PerMinute = (fallback: number, description: string) =>
  Type.Integer({ minimum: 1, maximum: LIMIT_MAX, default: fallback, description })

export const LimitsShape = Type.Object(
  {
    edge: Type.Object(
      {
        auth_per_minute: PerMinute(120, 'Sign-in, sign-up and reset requests of one address.'),
        inference_per_minute: PerMinute(60_000, 'Generating requests of one address.'),
        read_per_minute: PerMinute(120_000, 'All other requests of one address.'),
      },
      closed,
    ),
    key: Type.Object(
      {
        requests_per_minute: PerMinute(60_000, 'Requests of one key.'),
        tokens_per_minute: PerMinute(50_000_000, 'Tokens of one key, estimated on arrival, settled to the actual.'),
        concurrent_streams: PerMinute(1_000, 'Streams that one key may have open.'),
      },
      closed,
    ),
    project: Type.Object(
      {
        requests_per_minute: PerMinute(300_000, 'Requests of one project.'),
        admin_per_minute: PerMinute(60, 'Bulk jobs of one project, whatever the address.'),
      },
      closed,
    ),
    models: OperatorModelRates,
    shadow: Type.Array(Type.Enum(['edge', 'key', 'project']), {
      default: [],
      maxItems: 3,
      description: 'Layers that count and log what they would refuse, and refuse nothing.',
    }),
  },
  closed,
)
export type Limits = Static<typeof LimitsShape>

export type KeyLimits = Limits['key']

/** Of one key, where it has it: no key has one by default. Said here, because keys are made and changed with it too. */
export const MaxParallelRequests = Type.Integer({
  minimum: 1,
  maximum: LIMIT_MAX,
  description: 'How many generations of the key, and of its children together, may run at once.',
})

/** What a key may do: its own limits, and for the rest those of every key. */
export function keyLimits(common: KeyLimits, own: OwnLimits | undefined): KeyLimits {
  if (!own) return common
  return {
    requests_per_minute: own.requests_per_minute ?? common.requests_per_minute,
    tokens_per_minute: own.tokens_per_minute ?? common.tokens_per_minute,
    concurrent_streams: own.concurrent_streams ?? common.concurrent_streams,
  }
}

const OUTPUT_TOKENS_USUAL = 1_000 // where the caller sets no limit; what was really used takes its place at the end

interface Generation {
  input_estimate: number
  output_limit: number | undefined
  choices: number
}

/** What a generation counts as until it is known what it used. */
export function tokensOnArrival({ input_estimate, output_limit, choices }: Generation): number {
  return Math.min(input_estimate + (output_limit ?? OUTPUT_TOKENS_USUAL * choices), Number.MAX_SAFE_INTEGER)
}

/** R64: children have the rates of their parent, all of them together; else making one would be a way around them. */
export const ratedAs = ({ key_id, parent_id }: Pick<Caller, 'key_id' | 'parent_id'>) => parent_id ?? key_id
