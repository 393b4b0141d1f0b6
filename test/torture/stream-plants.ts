// Known bugs of the streaming path. They lie in nobody's store, so they are put under the server: into Node's own parts,
// where the service listens for a client's leaving and passes it on.
import { ServerResponse } from 'node:http'
import { Stop } from '../../src/core/stop-signal.ts'

/** Whoever waits for the end of an answer waits for ever, unless the answer comes to its own end. */
export function deaf(): void {
  const { once } = ServerResponse.prototype
  ServerResponse.prototype.once = function (this: ServerResponse, event: string, listener: () => void) {
    if (event !== 'close') return once.call(this, event, listener)
    return once.call(this, event, () => {
      if (this.writableFinished) listener()
    })
  } as typeof once
}

/** The news that a client has left goes no further. */
export function upstreamKept(): void {
  const { stop } = Stop.prototype
  Stop.prototype.stop = function (reason: unknown) {
    if ((reason as Error | undefined)?.name !== 'ClientLeft') stop.call(this, reason)
  }
}
