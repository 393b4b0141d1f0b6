// Sends what is in the outbox: one after the other, outside any transaction, a failure tried again later.
import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '../core/clock.ts'
import { type Deliver, MailRefused } from './delivery.ts'
import { type OutboxStore, pauseAfter } from './outbox-store.ts'

const ROUND_MAX = 100

interface Needs {
  outbox: OutboxStore
  deliver: Deliver
  clock: Clock
  log: FastifyBaseLogger
}

/**
 * One round. Where the relay is away, no other mail would get away either, and the round ends. What it refuses to take
 * for one recipient, or because of what is in it, holds up no other (R78).
 */
export async function sendWaiting({ outbox, deliver, clock, log }: Needs): Promise<void> {
  for (let round = 0; round < ROUND_MAX; round++) {
    const waiting = await outbox.take(clock.now())
    if (!waiting) return
    const { id, attempts, is_stale, mail } = waiting
    if (is_stale) log.error({ mail: id, attempts }, 'a mail could not be sent in time and is dropped')
    else if (!mail) log.error({ mail: id }, 'a mail was sealed with another secret and is dropped')
    const failure = mail && !is_stale && (await deliver(mail, id).then(() => undefined, asError))
    if (failure) {
      log.warn({ mail: id, attempts, cause: failure.message }, 'a mail could not be sent; it is tried again')
      await outbox.postpone(id, clock.now() + pauseAfter(attempts))
      if (failure instanceof MailRefused) continue
      return
    }
    await outbox.remove(id)
  }
}

const asError = (error: unknown) => error as Error
