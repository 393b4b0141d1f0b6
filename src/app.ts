// The whole service on one page: hooks in the order in which a request meets them (R15), then each room's routes.
import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import type { SignUpMode } from './accounts/account.ts'
import { accountRoutes } from './accounts/account-routes.ts'
import { memberRoutes } from './accounts/member-routes.ts'
import { operatorProject } from './accounts/operator-store.ts'
import type { PasswordHashing } from './accounts/password.ts'
import { projectRoutes } from './accounts/project-routes.ts'
import { artifactRoutes } from './artifacts/artifact-routes.ts'
import { attentionRoutes } from './attention/attention-routes.ts'
import { auditChanges } from './audit/audit-hooks.ts'
import { auditRoutes } from './audit/audit-routes.ts'
import { carveStore } from './budgets/carve-store.ts'
import { tagBudgetRoutes } from './budgets/tag-budget-routes.ts'
import { bundleRoutes } from './bundles/bundle-routes.ts'
import { cachePlanRoutes } from './cache-plan/cache-plan-routes.ts'
import { prefillRates } from './cache-plan/observed-store.ts'
import { clusterRoutes } from './clusters/cluster-routes.ts'
import type { ConsoleFiles } from './console/built-console.ts'
import { consoleRoutes } from './console/console-routes.ts'
import type { ContentPlaces } from './contents/content.ts'
import type { Clock } from './core/clock.ts'
import { fairTurns } from './core/fair-turns.ts'
import { memoryRoom, UPLOADS } from './core/memory-room.ts'
import { sealing } from './core/sealing.ts'
import { type Counters, isShared } from './counters/counters.ts'
import type { VerifyCredential } from './credentials/credential.ts'
import { credentialRoutes } from './credentials/credential-routes.ts'
import { inferencePath } from './generations/assembly.ts'
import { explainRoutes } from './generations/explain-routes.ts'
import { generationRoutes } from './generations/generation-routes.ts'
import { warmRoutes } from './generations/warm-routes.ts'
import { tellIgnoredFields } from './headers/ignored-fields-hooks.ts'
import { hintsRoutes } from './hints/hints-routes.ts'
import type { ArrivalLimits } from './http/arrival.ts'
import { authenticate, authorize } from './http/auth-hooks.ts'
import { boundBodies } from './http/body-room.ts'
import { buildFastify } from './http/fastify.ts'
import { serveReference } from './http/reference.ts'
import { beginInTurn, goOnInTurn } from './http/turn-hooks.ts'
import { makePostsIdempotent } from './idempotency/idempotency-hooks.ts'
import { holder, idempotencyStore } from './idempotency/idempotency-store.ts'
import { keyHolders } from './keys/key-holders.ts'
import { keyLifecycleRoutes } from './keys/key-lifecycle-routes.ts'
import { keyNames } from './keys/key-names-store.ts'
import { keyRoutes } from './keys/key-routes.ts'
import { keyStore, watchHolders } from './keys/key-store.ts'
import { keyUse } from './keys/key-use.ts'
import { arrivalOf, wholeAddresses } from './limits/client-address.ts'
import { keyLimitsRoutes } from './limits/key-limits-routes.ts'
import { keepQuotas, makeRoomAtOnce } from './limits/quota-hooks.ts'
import type { Deliver } from './mail/delivery.ts'
import { aliasRoutes } from './models/alias-routes.ts'
import { notificationRoutes } from './notifications/notification-routes.ts'
import { recordingRoutes } from './recordings/recording-routes.ts'
import { recordRefusals } from './refusals/refusal-hooks.ts'
import { refusalRoutes } from './refusals/refusal-routes.ts'
import { responseStore } from './responses/response-store.ts'
import { anthropicModelRoutes } from './routing/anthropic-model-routes.ts'
import { gatewayRoutes } from './routing/gateway-routes.ts'
import { modelRoutes } from './routing/model-routes.ts'
import { modelsOfCaller } from './routing/nameable-models.ts'
import { servedPlaces } from './routing/served-places.ts'
import { sessionRoutes } from './sessions/session-routes.ts'
import { type GatewaySettings, noGateway } from './start/gateway-settings.ts'
import { keptContents } from './start/kept-contents.ts'
import { keptQuotas } from './start/kept-quotas.ts'
import { liveProviders } from './start/live-providers.ts'
import { type LeastRooms, memoryRooms } from './start/memory-there.ts'
import { notificationsOf } from './start/notifications.ts'
import { openable } from './start/open-contents.ts'
import { operatorRoutes } from './start/operator-routes.ts'
import { peopleOf } from './start/people.ts'
import { purging } from './start/purge-parts.ts'
import { rateLimits } from './start/rate-limits.ts'
import { refusalRecords } from './start/refusal-records.ts'
import { replaceSettings, settingsChanges } from './start/reload.ts'
import { replayEvidence, replaying } from './start/replay-parts.ts'
import type { Db, OpenDb } from './storage/db.ts'
import { subscriptionRoutes } from './subscriptions/subscription-routes.ts'
import { metrics } from './telemetry/metrics.ts'
import { measureRequests } from './telemetry/metrics-hooks.ts'
import { readinessOf } from './telemetry/readiness.ts'
import { telemetryRoutes } from './telemetry/telemetry-routes.ts'
import type { Tracing } from './telemetry/traced-call.ts'
import { requestRoutes } from './usage/request-routes.ts'
import { reuseRoutes } from './usage/reuse-routes.ts'
import { traceRoutes } from './usage/trace-routes.ts'
import { usageRoutes } from './usage/usage-routes.ts'

export interface Parts {
  db: OpenDb
  clock: Clock
  logger: FastifyBaseLogger
  /** Seals what must not lie readable in the store. */
  secret: string
  /** Names this process among the replicas. */
  process_id: string
  version: string
  /** Where generations may go; without it, to the placeholder. */
  settings?: GatewaySettings
  /** What rates are counted in; without it, in this process. */
  counters?: Counters
  /** Asks a provider whether it accepts a credential. */
  verifyCredential?: VerifyCredential
  /** Where people reach the service; without it, where it listens. */
  public_url?: string | undefined
  /** It listens for this machine alone: a page under any other name than this machine's own is none of ours. */
  local_only?: boolean
  /** Who may make an account; without it, anybody. */
  sign_up?: SignUpMode
  /** What sends mails; without it, the log. */
  deliverMail?: Deliver
  /** What passwords are hashed with; without it, Argon2id. */
  passwordHashing?: PasswordHashing
  /** How long bodies may take to arrive, where that is not as usual. */
  arrival?: ArrivalLimits
  /** How much memory is its own; without it, as much as the machine or its container has. */
  memory_bytes?: number
  /** How much of it calls and prompts may hold at least, where that is not as usual. */
  least_rooms?: LeastRooms
  /** Where large contents lie; without it, in the database. */
  contents?: ContentPlaces
  /** The pages for people; without them, only the API. */
  console?: ConsoleFiles | undefined
  /** What several processes behind one port count together; without it, what this one counts. */
  metricsOfAll?: () => Promise<string>
  /** What puts spans around requests; without it, nothing does. */
  tracing?: Tracing | undefined
}

export type Service = Awaited<ReturnType<typeof buildService>>

export async function buildService(parts: Parts) {
  const { db, clock, logger, secret, process_id, version, settings = noGateway(), sign_up = 'open' } = parts
  const counts = metrics(clock)
  const { counters, tracing } = parts
  const readiness = readinessOf([{ name: 'store', ping: db.ping }], () =>
    counters && isShared(counters) && counters.isAway() ? ['Redis is away: rates are kept by share'] : [],
  )
  const uses = keyUse(keyStore(db), clock)
  const wholeAddressOf = wholeAddresses(settings.trusted_proxies ?? [])
  const whereFrom = ({ raw }: FastifyRequest) => wholeAddressOf(arrivalOf(raw))
  const { tally: refusals, calls: refused, callsOn: refusedOn } = refusalRecords({ db, clock, metrics: counts })
  const holders = await keyHolders({ store: keyStore(db), uses, clock, watch: watchHolders(db) })
  const seals = sealing(secret)
  const kept = keptQuotas(db, settings.quotas)
  const handlers = holder(process_id, kept.answers)
  const idempotencyOn = (on: Db) => idempotencyStore(on, seals, handlers)
  const uploads = memoryRoom(UPLOADS, 'uploads')
  const { calls_room, expansions_room } = memoryRooms(parts.memory_bytes, parts.least_rooms)
  const { gateway, policy, proxy } = settings
  const notifications = notificationsOf({
    ...{ db, clock, logger, seals, policy, proxy, version, metrics: counts, mailsPerDay: kept.mailsPerDay },
  })
  const { contents, artifacts, recordings, erasers } = keptContents({
    ...{ db, clock, logger, seals, places: parts.contents, quotas: kept, gateway, metrics: counts },
  })
  const providers = await liveProviders({ db, seals, settings, logger })
  const purges = purging({ db, clock, logger, seals, erasers })
  const turns = fairTurns()
  const inference = inferencePath({
    ...{ db, clock, logger, seals, process_id, gateway, policy, proxy, idempotencyOn, artifacts, metrics: counts },
    ...{ turns, calls_room, expansions_room, patience: settings.streams, shares: settings.shares },
    ...{ mayStore: kept.mayStore, session_contents: kept.session_contents },
    tapes: recordings.tapes,
    exchange: counters && isShared(counters) ? counters : undefined,
    ...notifications.noted,
  })
  providers.watch(inference.retireUnused)
  const { path, snapshots } = inference
  const served = servedPlaces(gateway)
  const replays = replaying({
    ...{ db, clock, logger, seals, gateway, inference, idempotencyOn, recordings, kept },
  })

  const app = buildFastify(logger, { trusted_proxies: settings.trusted_proxies, clock, arrival: parts.arrival })
  measureRequests(app, counts)
  tracing?.watch(app)
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (readiness.isParting()) reply.header('connection', 'close')
    done(null, payload)
  })
  const limits = rateLimits(app, { clock, logger, settings, metrics: counts, counters })
  app.decorateRequest('received_at', 0)
  app.addHook('onRequest', (request, reply, done) => {
    request.received_at = clock.now()
    if (readiness.isParting()) reply.header('connection', 'close') // streams pass no onSend
    done()
  })
  app.addHook('onRequest', limits.edge) //                   §8.1.1 → 429, whatever the address asked for
  await serveReference(app, version)
  await app.register(consoleRoutes, { files: parts.console })
  const metricsText = parts.metricsOfAll ?? (() => counts.registry.metrics())
  await app.register(telemetryRoutes, { contentType: counts.registry.contentType, metricsText, readiness })
  const listeningOn = () => (app.addresses().length > 0 ? app.listeningOrigin : 'http://localhost')
  const people = peopleOf({ ...parts, settings, seals, listeningOn })
  const addressOf = (request: FastifyRequest) => request.address
  await app.register(accountRoutes, { ...people, ...people.needs, db, clock, addressOf, sign_up })

  await app.register(async (api) => {
    api.decorateRequest('caller')
    api.decorateRequest('db')
    recordRefusals(api, refusals, refused, (layer) => counts.generationsRefused.inc({ layer }))
    api.addHook('onRequest', (request, _reply, done) => {
      request.db = db
      done()
    })
    const { only, usageOf } = inference
    const [browsers, ownCallerOf] = [people.signIns, only.callerOf]
    api.addHook('onRequest', authenticate({ holders, browsers, addressOf: whereFrom, ownCallerOf })) // §5 → 401
    api.addHook('onRequest', beginInTurn(turns)) //           R78: no project before another → 503
    api.addHook('onRequest', authorize(operatorProject(db))) // R3, R79 → 403
    tracing?.stageEnds(api, 'auth')
    api.addHook('onRequest', limits.requests) //             §8.1.2, §8.1.3 → 429
    api.addHook('onRequest', goOnInTurn(turns)) //            R78: those that a store answered together, one by one
    boundBodies(api, calls_room) //                         R78 → 503
    tracing?.stageEnds(api, 'limits')
    api.addHook('onSend', limits.tellUncounted)
    keepQuotas(api, { clock, quotas: settings.quotas }) //   R70 → 429
    auditChanges(api, clock) // what follows keeps a kept answer, its effect and its entry together
    makePostsIdempotent(api, { db, clock, storeOn: idempotencyOn, quota: kept.answers }) // §11 → replay, 409
    makeRoomAtOnce(api, { db, quotas: settings.quotas }) // R70: by what is deleted, once that has committed
    tellIgnoredFields(api) // R75

    await api.register(keyRoutes, { clock, uses, carvingOn: carveStore })
    await api.register(keyLifecycleRoutes, { clock, uses, carvingOn: carveStore, whereFrom })
    await api.register(keyLimitsRoutes, { limits: settings.limits })
    await api.register(clusterRoutes, { clock })
    await api.register(cachePlanRoutes, { clock })
    await api.register(hintsRoutes, { clock })
    await api.register(projectRoutes, { clock, places: served, gateway })
    await api.register(memberRoutes, { ...people.needs, clock, mailsPerDay: kept.mailsPerDay })
    await api.register(auditRoutes)
    await api.register(aliasRoutes, { clock, providerProblem: served.providerProblem, evidenceFor: replayEvidence })
    const verify = parts.verifyCredential ?? inference.verifyCredential
    await api.register(credentialRoutes, { clock, seals, verify, wrongTerm: served.wrongTerm })
    const { wrongProvider } = served
    await api.register(subscriptionRoutes, { clock, wrongProvider })
    await api.register(sessionRoutes, { clock, seals })
    await api.register(artifactRoutes, { clock, artifacts, room: uploads, limits: settings.artifacts })
    await api.register(bundleRoutes, { clock, artifacts: openable(artifacts, expansions_room), quota: kept.bundles })
    await api.register(recordingRoutes, { clock, recordings, gateway })
    await api.register(purges.routes)
    await api.register(notificationRoutes, { clock, seals })
    await api.register(replays.routes)
    await api.register(tagBudgetRoutes, { clock })
    await api.register(usageRoutes)
    await api.register(reuseRoutes, {
      clock,
      ratesOf: (on, project_id, clusters) => prefillRates(on, project_id, clusters, clock.now()),
    })
    const traceOfResponse = (on: Db) => responseStore(on, seals).traceOf
    await api.register(traceRoutes, { refusedOn, traceOfResponse, recordingOf: recordings.traced })
    await api.register(requestRoutes, { refusedOn, keyNamesOn: keyNames })
    await api.register(refusalRoutes, { clock, tally: refusals })
    await api.register(attentionRoutes, { clock, leftAlone: inference.leftAlone, departuresOf: inference.departuresOf })
    await api.register(gatewayRoutes, { version, store: db.engine, sign_up, gateway, limits: settings.limits })
    const modelsFor = modelsOfCaller({ snapshots, listedAt: inference.listedAt })
    await api.register(modelRoutes, { modelsFor })
    await api.register(anthropicModelRoutes, { modelsFor })
    await api.register(explainRoutes, { path })
    await api.register(warmRoutes, { path, clock, only, usageOf: ({ caller }, id) => usageOf(caller, id) })
    await api.register(operatorRoutes, { clock, wrongProvider, settings, providers: providers.offered(inference) })
    const { lend } = holders
    await api.register(generationRoutes, { path, seals, gateway, modelsFor, db, clock, idempotencyOn, lend })
  })

  return {
    app,
    readiness,
    metrics: counts,
    uses,
    refusals,
    refused,
    inference,
    people,
    contents,
    notifications,
    artifacts,
    recordings,
    uploads,
    purges: purges.runner,
    replays: replays.runner,
    providers,
    counters,
    idempotency: idempotencyOn(db),
    idempotencyOn,
    /** R83: the settings it was built with become these, for whatever begins from now on. Tells what is different. */
    replaceSettings(read: GatewaySettings): string[] {
      const next = providers.withFile(read)
      const changes = settingsChanges(settings, next)
      replaceSettings(settings, next)
      limits.reread()
      inference.renew()
      holders.reread().catch((err) => logger.error({ err }, 'imported keys were not read again'))
      return changes
    },
  }
}
