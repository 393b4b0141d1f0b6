// The spans of one request that is sampled: itself, its stages, and its attempts at targets.
import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { OWN, operationOf, SPAN } from './span-names.ts'
import type { TracedCall, TracedMoney, TracedOutcome, TracedTarget } from './traced-call.ts'
import { contextHeaders } from './unsampled-call.ts'

export interface TraceNeeds {
  tracer: Tracer
  /** In milliseconds since the epoch, and finer. */
  now(): number
  /** Whether this target takes the context of a trace. */
  takesContext(target: TracedTarget): boolean
}

/** Names that clients and tenants choose. */
const NAME_MAX = 256

export class RequestTrace implements TracedCall {
  readonly span: Span
  readonly #needs: TraceNeeds
  readonly #context: Context
  #marked_at: number
  #attempt: Span | undefined
  #attempt_ended = true
  #is_running = false
  #closing: (() => void) | undefined
  #has_failed = false

  constructor(needs: TraceNeeds, name: string, parent: Context = ROOT_CONTEXT, attributes: Attributes = {}) {
    this.#needs = needs
    this.#marked_at = needs.now()
    const options = { kind: SpanKind.SERVER, startTime: this.#marked_at, attributes }
    this.span = needs.tracer.startSpan(name, options, parent)
    this.#context = trace.setSpan(parent, this.span)
  }

  begin(kind: string): void {
    this.#is_running = true
    this.span.setAttribute(SPAN.operation, operationOf(kind))
  }

  stage(name: string): void {
    const now = this.#needs.now()
    this.#needs.tracer.startSpan(name, { startTime: this.#marked_at }, this.#context).end(now)
    this.#marked_at = now
  }

  dialling(target: TracedTarget, n: number, kind: string): Record<string, string> | undefined {
    const attempt = this.#startAttempt(target, n, kind)
    return this.#needs.takesContext(target) ? contextHeaders(attempt.spanContext()) : undefined
  }

  #startAttempt(target: TracedTarget, n: number, kind: string): Span {
    const { id, provider, model, profile, dialling } = target
    const operation = operationOf(kind)
    const attributes: Attributes = {
      [SPAN.operation]: operation,
      [SPAN.provider]: cut(provider),
      [SPAN.request_model]: cut(model),
      ...serverOf(dialling.base_url),
      [OWN.target]: id,
      [OWN.attempt]: n,
      [OWN.profile]: profile,
    }
    const options = { kind: SpanKind.CLIENT, startTime: this.#needs.now(), attributes }
    this.#attempt = this.#needs.tracer.startSpan(`${operation} ${cut(model)}`, options, this.#context)
    this.#attempt_ended = false
    return this.#attempt
  }

  attempted({ status, failure }: { status: number | undefined; failure: string | undefined }): void {
    this.#marked_at = this.#needs.now()
    if (!this.#attempt || this.#attempt_ended) return
    if (status !== undefined) this.#attempt.setAttribute(SPAN.status, status)
    const wrong = failure ?? (status !== undefined && status >= 400 ? String(status) : undefined)
    if (wrong !== undefined) this.#endAttempt(wrong.replace(/^status /, ''))
  }

  #endAttempt(wrong: string | undefined): void {
    if (this.#attempt_ended) return
    this.#attempt_ended = true
    if (wrong !== undefined) markFailed(this.#attempt, wrong)
    this.#attempt?.end(this.#needs.now())
  }

  answered(outcome: TracedOutcome): void {
    const used = usageOf(outcome)
    if (!this.#attempt_ended) this.#attempt?.setAttributes(used)
    this.#endAttempt(outcome.ending === 'upstream_failed' ? outcome.ending : undefined)
    this.#marked_at = this.#needs.now()
    this.span.setAttributes(Object.assign(used, outcomeAttributes(outcome)))
    if (outcome.ending !== 'completed' && outcome.ending !== 'client_left') this.#fail(outcome.ending)
  }

  settled(money: TracedMoney | undefined): void {
    const now = this.#needs.now()
    const attributes: Attributes = money
      ? { [OWN.charged_micros]: money.charged_micros, [OWN.direct_cost_micros]: money.direct_cost_micros }
      : {}
    this.#needs.tracer.startSpan('settle', { startTime: this.#marked_at, attributes }, this.#context).end(now)
    this.span.setAttributes(attributes)
    this.#marked_at = now
  }

  finished(): void {
    this.#is_running = false
    this.#closing?.()
  }

  /** The answer is sent, or its client has left. Its generation, where there is one, may go on for a while. */
  close(attributes: Attributes, error: string | undefined): void {
    const now = this.#needs.now()
    this.span.setAttributes(attributes)
    if (error !== undefined) this.#fail(error)
    this.#closing = () => {
      this.#closing = undefined
      this.#endAttempt('client_left')
      this.span.end(Math.max(now, this.#marked_at))
    }
    if (!this.#is_running) this.#closing()
  }

  /** What went wrong first tells more than the status that it led to. */
  #fail(error: string): void {
    if (!this.#has_failed) markFailed(this.span, error)
    this.#has_failed = true
  }
}

const cut = (name: string) => name.slice(0, NAME_MAX)

function markFailed(span: Span | undefined, error: string): void {
  span?.setAttribute(SPAN.error, error)
  span?.setStatus({ code: SpanStatusCode.ERROR })
}

/** Nothing of the placeholder, which has no address. */
function serverOf(base_url: string): Attributes {
  if (!URL.canParse(base_url)) return {}
  const { hostname, port, protocol } = new URL(base_url)
  return { [SPAN.server_address]: hostname, [SPAN.server_port]: Number(port) || (protocol === 'https:' ? 443 : 80) }
}

function usageOf({ tokens, stream, ttft_ms }: TracedOutcome): Attributes {
  return {
    [SPAN.input_tokens]: tokens.input,
    [SPAN.output_tokens]: tokens.output,
    [SPAN.cached_tokens]: tokens.cached,
    [SPAN.written_tokens]: tokens.written,
    ...(tokens.reasoning > 0 && { [SPAN.reasoning_tokens]: tokens.reasoning }),
    ...(stream && ttft_ms !== null && { [SPAN.first_chunk]: ttft_ms / 1_000 }),
  }
}

function outcomeAttributes(outcome: TracedOutcome): Attributes {
  const { session_id, agent_id } = outcome
  return {
    [SPAN.provider]: cut(outcome.provider),
    [SPAN.request_model]: cut(outcome.requested_model),
    [SPAN.response_model]: cut(outcome.model),
    [SPAN.stream]: outcome.stream,
    ...(session_id !== undefined && { [SPAN.conversation]: cut(session_id) }),
    ...(agent_id !== undefined && { [SPAN.agent]: cut(agent_id) }),
    [OWN.outcome]: outcome.ending,
    [OWN.profile]: outcome.profile,
    [OWN.mode]: outcome.mode,
    [OWN.region]: outcome.region,
    [OWN.admission]: outcome.admission,
    [OWN.fallback_used]: outcome.fallback_used,
    [OWN.attempts]: outcome.attempts.length,
    [OWN.tokens_estimated]: outcome.tokens.estimated,
  }
}
