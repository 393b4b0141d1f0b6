// A part of a run as a process of its own: it shares neither a thread nor a fate with the load, and is not slowed by it.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { bundled } from './bundled.ts'

/** Of `program`: what it is told in its one argument, and the message in which it says that it is ready. */
export async function forked<Ready>(program: URL, told: unknown = null) {
  const child = fork(bundled(fileURLToPath(program)), [JSON.stringify(told)], { execArgv: [] })
  const [ready] = (await once(child, 'message')) as [Ready]
  return {
    ready,
    /** One question at a time, each answered by one message. */
    async ask(question: unknown): Promise<unknown> {
      child.send(question as never)
      const [answer] = await once(child, 'message')
      return answer
    },
    async close(): Promise<void> {
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    },
  }
}
