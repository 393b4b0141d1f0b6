// Unauthenticated: is it alive, is it ready and what is missing, what does it count.
import { Type } from 'typebox'
import { Refusal } from '../core/refusal.ts'
import type { Routes } from '../http/routes.ts'
import type { Readiness } from './readiness.ts'

const config = { public: true } as const
const tags = ['Operations']

const Ready = Type.Object({
  status: Type.Literal('ready'),
  degraded: Type.Optional(Type.Array(Type.String(), { description: 'What is away, though requests are answered.' })),
})

interface Needs {
  readiness: Readiness
  contentType: string
  metricsText(): Promise<string>
}

export const telemetryRoutes: Routes<Needs> = async (app, { readiness, contentType, metricsText }) => {
  app.get(
    '/healthz',
    {
      config,
      schema: {
        tags,
        summary: 'Is the process alive',
        security: [],
        response: { 200: Type.Object({ status: Type.Literal('ok') }) },
      },
    },
    async () => ({ status: 'ok' as const }),
  )

  app.get(
    '/readyz',
    {
      config,
      schema: {
        tags,
        summary: 'Is it ready for traffic',
        security: [],
        response: { 200: Ready },
      },
    },
    async () => {
      const missing = await readiness.missing()
      if (missing.length > 0) throw new Refusal('unavailable', `Not ready: ${missing.join('; ')}.`)
      const degraded = readiness.degraded()
      return { status: 'ready' as const, ...(degraded.length > 0 && { degraded }) }
    },
  )

  app.get('/metrics', { config, schema: { hide: true } }, async (_request, reply) => {
    reply.type(contentType)
    return metricsText()
  })
}
