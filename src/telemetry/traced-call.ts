// A request on its way, as tracing sees it. Where tracing is off no request has one, and asking costs nothing.
import type { FastifyInstance } from 'fastify'

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined where tracing is off. */
    traced?: TracedCall | undefined
  }
}

export interface TracedCall {
  /** A generation has begun, which may go on when its client has left. */
  begin(kind: string): void
  /** What ran since the last stage ended has ended. */
  stage(name: 'auth' | 'limits' | 'body' | 'read' | 'allow' | 'route' | 'reserve' | 'slot' | 'hold'): void
  /** A target is about to be dialled. The headers that go along, where it is one that takes them. */
  dialling(target: TracedTarget, n: number, kind: string): Readonly<Record<string, string>> | undefined
  /** It has answered, or was given up. */
  attempted(attempt: { status: number | undefined; failure: string | undefined }): void
  /** All of the answer was there, or nobody gave one; what follows is the settlement. */
  answered(outcome: TracedOutcome): void
  settled(money: TracedMoney | undefined): void
  finished(): void
}

export interface TracedTarget {
  id: string
  provider: string
  model: string
  profile: string
  dialling: { base_url: string }
}

/** What became of a generation, as far as spans tell it. */
export interface TracedOutcome {
  trace_id: string
  project_id: string
  key_id: string
  requested_model: string
  provider: string
  model: string
  profile: string
  mode: string
  region: string
  admission: string
  fallback_used: boolean
  session_id: string | undefined
  agent_id: string | undefined
  stream: boolean
  ending: string
  ttft_ms: number | null
  attempts: readonly unknown[]
  tokens: { input: number; cached: number; written: number; output: number; reasoning: number; estimated: boolean }
}

export interface TracedMoney {
  charged_micros: number
  direct_cost_micros: number
}

/** What puts spans around requests. */
export interface Tracing {
  /** Every request of it that is not a question of health has a span. */
  watch(app: FastifyInstance): void
  /** Here in the order of its hooks, a stage has ended. */
  stageEnds(app: FastifyInstance, name: Parameters<TracedCall['stage']>[0]): void
  /** What waits is exported, in bounded time. */
  stop(): Promise<void>
}
