// Starts the planned upstream as a process, so that it shares neither a thread nor a fate with clients or server.
import { forked } from './forked.ts'

/** One call as the upstream saw it. */
export interface Execution {
  call: string
  trace_id: string
  provider: string
  /** It was to answer with content, and so may have worked. */
  produced: boolean
  ended: 'answered' | 'left' | undefined
  ended_at: number | undefined
}

export interface UpstreamLedger {
  executions: Execution[]
  open_sockets: number
}

export type PlannedUpstream = Awaited<ReturnType<typeof startPlannedUpstream>>

const PROGRAM = new URL('./planned-upstream.ts', import.meta.url)

export async function startPlannedUpstream() {
  const { ready, close } = await forked<{ port: number }>(PROGRAM)
  return {
    close,
    /** `provider` is what a plan calls it by. */
    baseUrl: (provider: string) => `http://127.0.0.1:${ready.port}/${provider}/v1`,
    ledger: async (): Promise<UpstreamLedger> =>
      (await (await fetch(`http://127.0.0.1:${ready.port}/ledger`)).json()) as UpstreamLedger,
  }
}
