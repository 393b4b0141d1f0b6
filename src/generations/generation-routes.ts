// Every surface by which a generation is asked for: OpenAI's, Azure's form of it, Anthropic's, and responses.
import type { Sealing } from '../core/sealing.ts'
import type { Routes } from '../http/routes.ts'
import type { Gateway } from '../routing/gateway.ts'
import type { ModelsFor } from '../routing/model-routes.ts'
import { azureRoutes } from './azure-routes.ts'
import { messagesRoutes } from './messages-routes.ts'
import { responseRoutes } from './response-routes.ts'
import type { Generations } from './running.ts'
import { v1Routes } from './v1-routes.ts'

interface Needs {
  path: Generations
  seals: Sealing
  gateway: Pick<Gateway, 'full_fidelity'>
  modelsFor: ModelsFor
}

export const generationRoutes: Routes<Needs> = async (app, { path, seals, gateway, modelsFor }) => {
  await app.register(v1Routes, { path })
  await app.register(azureRoutes, { path, modelsFor })
  await app.register(messagesRoutes, { path })
  await app.register(responseRoutes, { path, seals, gateway })
}
