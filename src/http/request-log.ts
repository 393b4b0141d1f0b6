// The log of one request: each line has `reqId`, which is the `x-request-id` of the answer (§10.2).
import type { FastifyBaseLogger } from 'fastify'

type Bindings = Parameters<FastifyBaseLogger['child']>[0]
type Level = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace'

/** Bound to its request with its first line: most requests have nothing to tell, and binding costs microseconds. */
export class RequestLog implements FastifyBaseLogger {
  readonly #service: FastifyBaseLogger
  readonly #bindings: Bindings
  #bound: FastifyBaseLogger | undefined

  constructor(service: FastifyBaseLogger, bindings: Bindings) {
    this.#service = service
    this.#bindings = bindings
  }

  get level() {
    return this.#service.level
  }

  get fatal() {
    return this.#writer('fatal')
  }

  get error() {
    return this.#writer('error')
  }

  get warn() {
    return this.#writer('warn')
  }

  get info() {
    return this.#writer('info')
  }

  get debug() {
    return this.#writer('debug')
  }

  get trace() {
    return this.#writer('trace')
  }

  silent(): void {}

  /** For its lines to come. */
  bind(more: Bindings): void {
    Object.assign(this.#bindings, more)
    if (this.#bound) this.#bound = this.#bound.child(more)
  }

  child(...further: Parameters<FastifyBaseLogger['child']>): FastifyBaseLogger {
    return this.#mine().child(...further)
  }

  #writer(level: Level) {
    const log = this.#mine()
    return log[level].bind(log)
  }

  #mine(): FastifyBaseLogger {
    this.#bound ??= this.#service.child(this.#bindings)
    return this.#bound
  }
}
