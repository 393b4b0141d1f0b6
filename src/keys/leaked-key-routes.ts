// POST /v2/leaked-keys: somebody found a key where it should not be, and says so by its hash (0281). Whoever has the
// secret could have used it; the project that it belongs to is told.
import { Type } from 'typebox'
import type { Clock } from '../core/clock.ts'
import { Label, label } from '../core/shapes.ts'
import type { Routes } from '../http/routes.ts'
import { tellOfLeak } from './leaked-key-store.ts'

const LeakReport = Type.Object(
  {
    sha256: Type.String({
      pattern: '^[\\w-]{43}$',
      description: 'SHA-256 of the secret, in base64url without padding. The secret itself is not wanted.',
    }),
    where: Type.Optional(Label('Where it was found.')),
  },
  { title: 'LeakReport' },
)

const LeakReceived = Type.Object(
  { object: Type.Literal('leaked_key.report'), received: Type.Literal(true) },
  { title: 'LeakReceived' },
)

export const leakedKeyRoutes: Routes<{ clock: Clock }> = async (app, { clock }) => {
  app.post(
    '/v2/leaked-keys',
    {
      config: { scope: 'read', class: 'read' },
      schema: {
        tags: ['API keys'],
        summary: 'Report a key that others know',
        description:
          'The project that the key belongs to is told, by its notification channels, once a day. The answer is the ' +
          'same whether there is such a key or not, and nothing is revoked.',
        body: LeakReport,
        response: { 200: LeakReceived },
      },
    },
    async ({ body: { sha256, where }, db }) => {
      const found_at = where === undefined ? null : label('where', where)
      await tellOfLeak(db, sha256, found_at, clock.now())
      return { object: 'leaked_key.report' as const, received: true as const }
    },
  )
}
