// A Fastify instance with the service's manners: strict JSON in, one error shape out, no undeclared route.
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  LogController,
  type RouteOptions,
} from 'fastify'
import { newId } from '../core/ids.ts'
import { type Cidr, canonicalAddress, isIn } from '../core/ip-address.ts'
import { Refusal } from '../core/refusal.ts'
import { answerClientError, answerError, answerRefusal, JSON_TYPE, SECURITY_HEADERS } from './answers.ts'
import { closeGracefully } from './graceful-close.ts'
import { parseJsonBodies } from './json-body.ts'
import { RequestLog } from './request-log.ts'
import './routes.ts'

export const BODY_MAX_BYTES = 64 * 1024 // control-plane bodies are small; inference routes say their own bound
const PARAM_MAX = 4_096 // longer ids simply do not exist: 404, not the router's 414

export type App = ReturnType<typeof buildFastify>

export function buildFastify(logger: FastifyBaseLogger, trusted_proxies: readonly Cidr[] = []) {
  const app = Fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }), // metrics count requests; logs tell of trouble
    childLoggerFactory: (service, bindings) => new RequestLog(service, bindings),
    genReqId: () => newId('req'),
    // For scheme and host. Whom a request counts for is `request.address`, which also reads what proxies garble.
    trustProxy: trusted_proxies.length > 0 && ((address) => isAmong(address, trusted_proxies)),
    bodyLimit: BODY_MAX_BYTES,
    requestTimeout: 15_000, // a body that drips is cut off
    connectionTimeout: 0, // streams may be silent for long; their own time-outs bound them
    keepAliveTimeout: 72_000, // above the usual 60 s of a proxy in front, so that the proxy closes first
    maxRequestsPerSocket: 0,
    http: {
      headersTimeout: 10_000,
      connectionsCheckingInterval: 1_000,
      maxHeaderSize: 16 * 1024,
      requireHostHeader: false, // Node would answer a bare 400; the hook below says it in the envelope
    },
    return503OnClosing: false, // while draining, whoever is still connected is served
    routerOptions: { maxParamLength: PARAM_MAX },
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false, allErrors: false } },
    frameworkErrors: (error, request, reply) => {
      reply.headers({ ...SECURITY_HEADERS, 'x-request-id': request.id })
      const tooLong = error.statusCode === 414
      const message = tooLong ? 'Nothing has an id this long.' : `The address is not valid: ${error.message}`
      answerRefusal(new Refusal(tooLong ? 'not_found' : 'invalid_request', message), reply as never)
    },
    clientErrorHandler: answerClientError,
  }).withTypeProvider<TypeBoxTypeProvider>()

  closeGracefully(app.server)
  app.server.on('checkExpectation', (_request, response) => {
    const { status, body } = new Refusal('expectation_failed', "Only 'Expect: 100-continue' is understood.")
    const payload = JSON.stringify(body)
    const length = Buffer.byteLength(payload)
    const headers = { ...SECURITY_HEADERS, 'content-type': JSON_TYPE, 'content-length': length, connection: 'close' }
    response.writeHead(status, headers).end(payload)
  })

  app.decorateRequest('route')
  app.addHook('onRequest', (request, reply, done) => {
    request.route = request.routeOptions
    reply.headers(SECURITY_HEADERS)
    reply.header('x-request-id', request.id)
    done(hostless(request))
  })
  app.addHook('preValidation', (request, _reply, done) => done(unnameable(request)))
  parseJsonBodies(app)
  app.setErrorHandler(answerError)
  answerUnknownRoutes(app)
  return app
}

/** Routes are noted as they are declared: one without scope and class stops the start; the rest tell 404 from 405. */
function answerUnknownRoutes(app: FastifyInstance): void {
  const known: { route: RouteOptions; path: RegExp }[] = []
  app.addHook('onRoute', (route) => void known.push({ route, path: pathPattern(route.url) }))
  app.addHook('onReady', async () => {
    for (const { route } of known) assertDeclared(route)
  })
  app.setNotFoundHandler((request, reply) => {
    const path = decodedPath(request.url)
    const allowed = known.filter((one) => one.path.test(path)).flatMap((one) => one.route.method)
    const headers = { allow: [...new Set(allowed)].join(', ') }
    return answerRefusal(
      allowed.length === 0
        ? new Refusal(
            'not_found',
            `There is no ${request.method} ${path.slice(0, 200)}. GET /docs lists what there is.`,
          )
        : new Refusal('method_not_allowed', `This address takes ${headers.allow}, not ${request.method}.`, { headers }),
      reply,
    )
  })
}

function hostless({ raw }: FastifyRequest): Refusal | undefined {
  if (raw.headers.host !== undefined || raw.httpVersion !== '1.1') return undefined
  return new Refusal('invalid_request', 'An HTTP/1.1 request needs a Host header.', {
    headers: { connection: 'close' },
  })
}

function isAmong(text: string, ranges: readonly Cidr[]): boolean {
  const address = canonicalAddress(text)
  return address !== undefined && ranges.some((range) => isIn(address, range))
}

/** PostgreSQL would not even look for an id with a NUL in it. */
function unnameable({ url, params }: FastifyRequest): Refusal | undefined {
  if (!url.includes('%00')) return undefined
  const named = Object.values(params as Record<string, string>).some((value) => value.includes('\0'))
  return named ? new Refusal('not_found', 'Nothing has an id with a NUL character.') : undefined
}

function assertDeclared({ method, url, config }: RouteOptions): void {
  if (config?.public || (config?.scope && config.class)) return
  throw new Error(`${String(method)} ${url} declares no scope and class, and is not public`)
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
