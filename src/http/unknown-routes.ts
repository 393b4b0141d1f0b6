// R2: 404 where there is no such path, 405 where it has other methods. Before the body is read, so that its size does
// not matter: a client that is told that its request is too large would go and shorten it.
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import { Refusal } from '../core/refusal.ts'
import { answerRefusal } from './answers.ts'

/** Routes are noted as they are declared: one without scope and class stops the start; the rest tell 404 from 405. */
export function answerUnknownRoutes(app: FastifyInstance): void {
  const known: { route: RouteOptions; path: RegExp }[] = []
  app.addHook('onRoute', (route) => void known.push({ route, path: pathPattern(route.url) }))
  app.addHook('onReady', async () => {
    for (const { route } of known) assertDeclared(route)
  })

  function refusalOf({ url, method }: Pick<FastifyRequest, 'url' | 'method'>): Refusal {
    const path = decodedPath(url)
    const allowed = known.filter((one) => one.path.test(path)).flatMap((one) => one.route.method)
    const headers = { allow: [...new Set(allowed)].join(', ') }
    if (allowed.length === 0) return new Refusal('not_found', unknownPath(method, path))
    return new Refusal('method_not_allowed', `This address takes ${headers.allow}, not ${method}.`, { headers })
  }

  app.addHook('preParsing', (request, _reply, payload, done) =>
    request.is404 ? done(refusalOf(request)) : done(null, payload),
  )
  app.setNotFoundHandler((request, reply) => answerRefusal(refusalOf(request), reply))
}

function assertDeclared({ method, url, config }: RouteOptions): void {
  if (config?.public || (config?.scope && config.class)) return
  throw new Error(`${String(method)} ${url} declares no scope and class, and is not public`)
}

/** What clients of `/v1` know from elsewhere, and would look for here. */
const ELSEWHERE: readonly [RegExp, string][] = [
  [/^\/v1\/messages\b/, "Messages are Anthropic's protocol, and have a base URL of their own: /anthropic"],
  [/^\/v1\/(images|audio|videos|realtime|fine_tuning|fine-tuning|evals)\b/, 'There is none of that here'],
  [/^\/v1\/(files|uploads|batches|vector_stores|containers)\b/, 'Nothing is uploaded or run in batches here'],
  [/^\/v1\/(assistants|threads|conversations)\b/, 'Use /v1/responses with previous_response_id, or /v2/sessions'],
  [/^\/openai\//, "Of Azure's API there are chat/completions, completions, embeddings, responses and models"],
]

function unknownPath(method: string, path: string): string {
  const [, why] = ELSEWHERE.find(([pattern]) => pattern.test(path)) ?? []
  return `There is no ${method} ${path.slice(0, 200)}. ${why ? `${why}. ` : ''}GET /docs lists what there is.`
}

/** As the router sees it: without scheme, host and query, and with its percent signs read. */
function decodedPath(url: string): string {
  const path = url.replace(/^https?:\/\/[^/?]*/i, '').replace(/\?.*$/, '')
  try {
    return decodeURI(path)
  } catch {
    return path
  }
}

const pathPattern = (url: string) =>
  new RegExp(
    `^${url
      .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
      .replace(/:\w+/g, '[^/]+')
      .replace(/\*$/, '.*')}$`,
  )
