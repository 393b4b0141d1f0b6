// Waiting for somebody who reads slower than they are written to.
import type { EventEmitter } from 'node:events'

/** Resolves once `writer` takes more, or once it, or whom it writes for, has closed. */
export function drained(writer: EventEmitter, closing: EventEmitter = writer): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      writer.off('drain', done)
      closing.off('close', done)
      resolve()
    }
    writer.once('drain', done)
    closing.once('close', done)
  })
}
