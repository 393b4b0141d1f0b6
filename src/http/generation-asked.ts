// What is known of a generation from its request alone, however early it was refused: for its record and the log (R80).
import type { FastifyRequest } from 'fastify'
import { traceIdOf } from '../core/ids.ts'

export interface GenerationAsked {
  trace_id: string
  project_id: string
  key_id: string
  received_at: number
  endpoint: string
  /** Undefined where the body was not read, or names none. */
  model: string | undefined
}

/** Undefined for any other request, and for one without a caller. */
export function generationAsked({ id, route, caller, received_at, body }: FastifyRequest): GenerationAsked | undefined {
  if (!caller || route.config.class !== 'inference') return undefined
  const { project_id, key_id } = caller
  const model = (body as { json?: { model?: unknown } | null } | null | undefined)?.json?.model
  return {
    trace_id: traceIdOf(id),
    project_id,
    key_id,
    received_at,
    endpoint: route.url ?? '',
    model: typeof model === 'string' ? model : undefined,
  }
}
