// Every surface by which a generation is asked for: OpenAI's, Azure's form of it, Anthropic's, and responses.
import type { Routes } from '../http/routes.ts'
import type { ModelsFor } from '../routing/nameable-models.ts'
import { azureRoutes } from './azure-routes.ts'
import type { CreateNeeds } from './background-create.ts'
import type { Speaking } from './background-jobs.ts'
import { messagesRoutes } from './messages-routes.ts'
import { type ResponseNeeds, responseRoutes } from './response-routes.ts'
import { v1Routes } from './v1-routes.ts'

interface Needs extends ResponseNeeds, CreateNeeds {
  modelsFor: ModelsFor
  lend: Speaking['lend']
}

export const generationRoutes: Routes<Needs> = async (app, { path, seals, gateway, modelsFor, lend, ...needs }) => {
  path.jobs.speakThrough({ app, lend })
  await app.register(v1Routes, { path })
  await app.register(azureRoutes, { path, modelsFor })
  await app.register(messagesRoutes, { path })
  await app.register(responseRoutes, { path, seals, gateway, background: { seals, ...needs } })
}
