// A Fastify instance with the service's manners: strict JSON in, one error shape out, no undeclared route.
import type { Server } from 'node:http'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import { type Clock, SECOND_MS, systemClock } from '../core/clock.ts'
import { BUDGETS } from '../core/foreign.ts'
import { newRequestId } from '../core/ids.ts'
import { type Cidr, canonicalAddress, isIn } from '../core/ip-address.ts'
import { Refusal } from '../core/refusal.ts'
import {
  answerClientError,
  answerError,
  answerRefusal,
  answerTunnel,
  plainAnswer,
  SECURITY_HEADERS,
} from './answers.ts'
import { type ArrivalLimits, watchArrivals } from './arrival.ts'
import { lazyShapes } from './compiled-shapes.ts'
import { readEncodedBodies } from './encoded-bodies.ts'
import { closeGracefully } from './graceful-close.ts'
import { parseJsonBodies } from './json-body.ts'
import { speaksMessages } from './messages-errors.ts'
import { closeQueued } from './queued-answers.ts'
import { RequestLog } from './request-log.ts'
import './routes.ts'
import { answerUnknownRoutes } from './unknown-routes.ts'
import { boundUnread } from './unread-answers.ts'

const PARAM_MAX = 4_096 // longer ids simply do not exist: 404, not the router's 414

export type App = ReturnType<typeof buildFastify>

interface Manners {
  trusted_proxies?: readonly Cidr[] | undefined
  clock?: Clock
  arrival?: ArrivalLimits | undefined
}

export function buildFastify(logger: FastifyBaseLogger, manners: Manners = {}) {
  const { trusted_proxies = [], clock = systemClock, arrival } = manners
  const newName = () => newRequestId(clock.now())
  const { compilersFactory, compileInTime } = lazyShapes()
  const app = Fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }), // metrics count requests; logs tell of trouble
    childLoggerFactory: (service, bindings) => new RequestLog(service, bindings),
    genReqId: newName,
    // For scheme and host. Whom a request counts for is `request.address`, which also reads what proxies garble.
    trustProxy: trusted_proxies.length > 0 && ((address) => isAmong(address, trusted_proxies)),
    bodyLimit: BUDGETS.body.bytes, // inference routes say their own bound
    requestTimeout: 0, // how long a body may take is watched below: Node knows one time for bodies of any size
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
    schemaController: { compilersFactory },
    frameworkErrors: (error, request, reply) => {
      reply.headers({ ...SECURITY_HEADERS, 'x-request-id': request.id })
      const tooLong = error.statusCode === 414
      const message = tooLong ? 'Nothing has an id this long.' : `The address is not valid: ${error.message}`
      answerRefusal(new Refusal(tooLong ? 'not_found' : 'invalid_request', message), reply as never)
    },
    clientErrorHandler: (error, socket) => answerClientError(error, socket, newName()),
  }).withTypeProvider<TypeBoxTypeProvider>()

  closeGracefully(app.server)
  closeQueued(app.server)
  watchWhileOpen(app, compileInTime, watchArrivals(app.server, clock, arrival))
  answerOddRequests(app.server, newName)

  app.decorateRequest('route')
  app.addHook('onRequest', (request, reply, done) => {
    request.route = request.routeOptions
    reply.headers(SECURITY_HEADERS)
    nameRequest(request, reply)
    done(misaddressed(request))
  })
  app.addHook('preValidation', (request, _reply, done) => done(unnameable(request)))
  boundUnread(app)
  readEncodedBodies(app)
  parseJsonBodies(app)
  app.setErrorHandler(answerError)
  answerUnknownRoutes(app)
  return app
}

/** What a service does by itself, from when it listens to its end. */
function watchWhileOpen(app: FastifyInstance, compileInTime: () => () => void, lookForLateArrivals: () => void): void {
  const arrivals = setInterval(lookForLateArrivals, SECOND_MS).unref()
  let stopCompiling = () => {}
  app.addHook('onListen', async () => {
    stopCompiling = compileInTime()
  })
  app.addHook('onClose', async () => {
    clearInterval(arrivals)
    stopCompiling()
  })
}

/** Requests that Node hands to nobody else. */
function answerOddRequests(server: Server, newName: () => string): void {
  server.on('connect', (_request, socket) => answerTunnel(socket, newName()))
  server.on('checkExpectation', ({ url }, response) => {
    const refusal = new Refusal('expectation_failed', "Only 'Expect: 100-continue' is understood.")
    const { status, headers, payload } = plainAnswer(refusal, newName(), url)
    response.writeHead(status, headers).end(payload)
  })
}

/** R80, R81: under both names for who speaks Anthropic's protocol. */
function nameRequest({ id, url }: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', id)
  if (speaksMessages(url)) reply.header('request-id', id)
}

/** RFC 9112: exactly one Host. With two, a proxy in front may have gone by the other. */
function misaddressed({ raw }: FastifyRequest): Refusal | undefined {
  if (raw.headers.host === undefined) return raw.httpVersion === '1.1' ? badHost('needs a Host header') : undefined
  return hosts(raw.rawHeaders) > 1 ? badHost('has one Host header') : undefined
}

const badHost = (what: string) =>
  new Refusal('invalid_request', `An HTTP/1.1 request ${what}.`, { headers: { connection: 'close' } })

function hosts(rawHeaders: readonly string[]): number {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    if (name.length === 4 && name.toLowerCase() === 'host') count++
  }
  return count
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
