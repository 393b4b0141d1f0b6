// How clusters stood for a call when it was routed, and what was observed afterwards (decision 0240): the prediction
// beside the fact. Tokens of predictions are estimated from the prompt's bytes; those observed are the upstream's.
import { type Static, Type } from 'typebox'
import { orNull } from '../core/shapes.ts'

const tokens = (description: string) => Type.Integer({ minimum: 0, description })

export const candidateShape = {
  in_flight_tokens: tokens('Of prompts on their way there, without what its cache holds; estimated.'),
  held_tokens: tokens('Of this prompt: what its cache is believed to hold, estimated.'),
  uncached_tokens: tokens('Of this prompt: what it would have to read, estimated.'),
  tokens_per_s: orNull(
    Type.Integer({ description: 'How fast it reads prompts, as it reports or as was observed. Null: nobody knows.' }),
  ),
  expected_first_token_ms: orNull(Type.Integer({ description: 'In flight and uncached, by the rate.' })),
}

export const TracedCandidate = Type.Object({ target: Type.String(), ...candidateShape })
export type TracedCandidate = Static<typeof TracedCandidate>

export const TracedPlacing = Type.Object(
  {
    chosen: Type.String({ description: 'The target that answered.' }),
    candidates: Type.Array(TracedCandidate, {
      description: 'Best first: the least in flight + 5 × uncached, by rate.',
    }),
    observed: Type.Object({
      input_tokens: Type.Integer(),
      cached_tokens: Type.Integer(),
      first_token_ms: orNull(Type.Integer({ description: 'From when the target was called.' })),
    }),
  },
  { title: 'TracedPlacing', description: 'How clusters stood when it was routed, and what was observed.' },
)
export type TracedPlacing = Static<typeof TracedPlacing>
