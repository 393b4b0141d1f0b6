// §8.1, R51: the numbers of the three layers, as switchyard.yaml may set them. The defaults are generous: a script with
// one key that makes a hundred calls a second from one address is never refused.
import { type Static, Type } from 'typebox'

const PerMinute = (fallback: number, description: string) =>
  Type.Integer({ minimum: 1, maximum: 1_000_000_000, default: fallback, description })

export const LimitsShape = Type.Object(
  {
    edge: Type.Object(
      {
        auth_per_minute: PerMinute(30, 'Sign-in, sign-up and reset requests of one address.'),
        inference_per_minute: PerMinute(6_000, 'Generating requests of one address.'),
        read_per_minute: PerMinute(12_000, 'All other requests of one address.'),
      },
      { additionalProperties: false, default: {} },
    ),
    key: Type.Object(
      {
        requests_per_minute: PerMinute(6_000, 'Requests of one key.'),
        tokens_per_minute: PerMinute(2_000_000, 'Tokens of one key, estimated on arrival, settled to the actual.'),
        concurrent_streams: PerMinute(100, 'Streams that one key may have open.'),
      },
      { additionalProperties: false, default: {} },
    ),
    project: Type.Object(
      {
        requests_per_minute: PerMinute(20_000, 'Requests of one project.'),
        admin_per_minute: PerMinute(60, 'Bulk jobs of one project, whatever the address.'),
      },
      { additionalProperties: false, default: {} },
    ),
  },
  { additionalProperties: false, default: {} },
)
export type Limits = Static<typeof LimitsShape>
