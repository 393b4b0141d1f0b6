// The generations under way in this process. A keyed one goes on after its client has left, so no connection tells of
// it: whoever stops the process waits here.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { CallKind } from '../providers/provider.ts'
import type { Answer } from '../routing/choose-route.ts'
import type { Asking } from './asking.ts'
import { type CreateNeeds, createBackground } from './background-create.ts'
import { countResponseTokens, countTokens } from './count-tokens.ts'
import { generate } from './generate.ts'
import type { Path } from './path.ts'
import { routeAnswer } from './route-for.ts'

export type Generations = ReturnType<typeof running>

export function running(path: Path) {
  let under_way = 0
  let onIdle: (() => void) | undefined

  return {
    async run(kind: CallKind, request: FastifyRequest, reply: FastifyReply): Promise<void> {
      under_way++
      request.traced?.begin(kind)
      try {
        await generate(path, kind, request, reply)
      } finally {
        request.traced?.finished()
        if (--under_way === 0) onIdle?.()
      }
    },

    /** Resolves once nothing is being generated, for whoever has stopped new calls from coming. */
    finished: (): Promise<void> =>
      under_way === 0
        ? Promise.resolve()
        : new Promise((resolve) => {
            onIdle = resolve
          }),

    /** What bytes of images and sound are counted by. */
    media_room: path.media_room,

    /** R81: nothing is generated. */
    countTokens: (request: FastifyRequest) => countTokens(path, request),
    countResponseTokens: (request: FastifyRequest) => countResponseTokens(path, request),

    /** `background: true`: promised now, made later. */
    createBackground: (needs: CreateNeeds, request: FastifyRequest) => createBackground(path, needs, request),
    jobs: path.jobs,

    /** What would happen, without calling anyone. */
    explain: (asking: Asking): Promise<Answer> => routeAnswer(path, asking),
  }
}
