// Starts the planned upstream as a process, so that it shares neither a thread nor a fate with clients or server.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

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

const PROGRAM = fileURLToPath(new URL('./planned-upstream.ts', import.meta.url))

export async function startPlannedUpstream() {
  const child = fork(PROGRAM, { execArgv: ['--import', import.meta.resolve('tsx')] })
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return {
    /** `provider` is what a plan calls it by. */
    baseUrl: (provider: string) => `http://127.0.0.1:${port}/${provider}/v1`,
    ledger: async (): Promise<UpstreamLedger> =>
      (await (await fetch(`http://127.0.0.1:${port}/ledger`)).json()) as UpstreamLedger,
    async close(): Promise<void> {
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    },
  }
}
