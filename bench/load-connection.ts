// One client connection: a request out, a whole answer in, and when its first and its last byte came.
import { connect } from 'node:net'
import { messageReader } from './http1-message.ts'

export interface Answered {
  status: number
  first_at: number
  ended_at: number
}

export interface LoadConnection {
  /** One at a time. A connection that breaks answers with status 0, and dials again for the next. */
  ask(request: Buffer | string, done: (answered: Answered) => void): void
  close(): void
}

export function loadConnection(port: number): LoadConnection {
  let status = 0
  let first_at = 0
  let waiting: ((answered: Answered) => void) | undefined
  let closed = false

  const finish = (code: number) => {
    const ended_at = performance.now()
    const done = waiting
    waiting = undefined
    done?.({ status: code, first_at: first_at || ended_at, ended_at })
  }
  const dial = () => {
    const fresh = connect({ port, host: '127.0.0.1', noDelay: true })
    const read = messageReader({
      head: (text) => {
        status = Number(text.slice(9, 12))
      },
      body: () => {
        first_at ||= performance.now()
      },
      end: () => finish(status),
    })
    fresh.on('data', read)
    fresh.on('error', () => {})
    fresh.on('close', () => {
      if (closed) return
      socket = dial()
      if (waiting) finish(0)
    })
    return fresh
  }
  let socket = dial()

  return {
    ask(request, done) {
      waiting = done
      first_at = 0
      if (typeof request === 'string') socket.write(request, 'latin1')
      else socket.write(request)
    },
    close() {
      closed = true
      socket.destroy()
    },
  }
}
