// An upstream in a process of its own that does to each call what the call itself says: its body carries a plan for
// either provider. Remembers every call, so that whoever checks can ask how often each was executed, and how it ended.
import type { Behaviour, Recorded } from '../support/upstream.ts'
import { startUpstream } from '../support/upstream.ts'
import { readyHere } from './told-here.ts'
import type { Execution, UpstreamLedger } from './upstream-process.ts'

const executions: Execution[] = []

const upstream = await startUpstream((request) => {
  if (request.path === '/ledger') return { body: ledger() }
  const provider = request.path.split('/')[1] ?? ''
  const behaviour: Behaviour = request.body?.plan?.[provider] ?? {}
  note(request, provider, behaviour)
  return behaviour
})

function note({ body, headers, over }: Recorded, provider: string, { instead, status = 200 }: Behaviour): void {
  const execution: Execution = {
    call: String(body?.call),
    trace_id: String(headers['x-request-id']),
    provider,
    produced: !instead && status === 200,
    ended: undefined,
    ended_at: undefined,
  }
  executions.push(execution)
  over.then((ended) => {
    execution.ended = ended
    execution.ended_at = now()
  })
}

/** Of this machine's clock, which the harness reads too. */
const now = () => performance.timeOrigin + performance.now()

const ledger = (): UpstreamLedger => ({ executions, open_sockets: upstream.open_sockets() })

readyHere({ port: upstream.port })
