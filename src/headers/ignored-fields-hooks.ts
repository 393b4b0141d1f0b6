// R75: on `/v2` an unknown field is ignored, and told. Before validation, so that a refusal tells of it too: the field
// that is missing is often the one that was misspelt.
import type { FastifyInstance, preValidationHookHandler } from 'fastify'
import { IGNORED_FIELDS_HEADER, ignoredFields, ignoredFieldsHeader, type Known, knownFields } from './ignored-fields.ts'

export function tellIgnoredFields(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const body = route.schema?.body
    if (body === undefined || !route.url.startsWith('/v2/')) return
    const known = knownFields(body)
    if (known === 'open') return // a generation's: what we do not know is for the upstream to know
    route.preValidation = [...[route.preValidation ?? []].flat(), telling(known)]
  })
}

const telling =
  (known: Known): preValidationHookHandler =>
  (request, reply, done) => {
    const told = ignoredFieldsHeader(ignoredFields(request.body, known))
    if (told !== undefined) reply.header(IGNORED_FIELDS_HEADER, told)
    done()
  }
