// The load's process as its parent sees it: one plan at a time, on a core of its own.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { holdUntilEnd } from './held.ts'
import type { LoadPlan, LoadResult } from './load-plan.ts'
import { canPin, end, LOAD_CORE, watch } from './processes.ts'

export interface Load {
  run(plan: LoadPlan): Promise<LoadResult>
  cpuMicros(): number
}

const SCRIPT = fileURLToPath(new URL('./load.ts', import.meta.url))
let started: Load | undefined

/** One for the whole run, so that it is compiled when it matters. */
export function theLoad(): Load {
  started ??= startLoad()
  return started
}

/** A further one, for servers that are loaded at the same time. */
export function startLoad(): Load {
  const node = [process.execPath, '--import', import.meta.resolve('tsx'), SCRIPT]
  const [command = '', ...args] = canPin ? ['taskset', '-c', LOAD_CORE, ...node] : node
  const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  holdUntilEnd(() => end(child))
  return {
    run: (plan) =>
      new Promise((resolve, reject) => {
        const gone = (code: number | null) => reject(new Error(`the load ended with ${code}`))
        child.once('exit', gone)
        child.once('message', (result) => {
          child.off('exit', gone)
          resolve(result as LoadResult)
        })
        child.send(plan)
      }),
    cpuMicros: () => watch(child.pid as number).cpuMicros(),
  }
}
