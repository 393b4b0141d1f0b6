// What a run started is gone once the run is, whatever ended it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const HELPER = new URL('./ends-with-us.ts', import.meta.url).href

const run = (ending: object) => `
  import { spawn } from 'node:child_process'
  import { endsWithUs } from '${HELPER}'
  const child = spawn('sleep', ['600'], { stdio: 'ignore' })
  endsWithUs(child, ${JSON.stringify(ending)})
  process.stdout.write(String(child.pid))
  setInterval(() => {}, 1_000)`

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

test.each(['SIGTERM', 'SIGKILL'] as const)('§tests after %s, nothing that a suite started is left', async (signal) => {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-ends-'))
  const args = ['--import', 'tsx', '--input-type=module', '-e', run({ folder })]
  const ours = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [told] = await once(ours.stdout, 'data')
  const pid = Number(String(told))
  expect([isRunning(pid), existsSync(folder)]).toEqual([true, true])
  ours.kill(signal)
  await expect.poll(() => [isRunning(pid), existsSync(folder)]).toEqual([false, false])
})
