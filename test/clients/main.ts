// `npm run clients`: agents and clients as people run them, unmodified, against the real server: over an upstream that
// speaks Messages, and over one that speaks chat. Each calls a tool once and ends with what the upstream says then.
// Nothing has to be there before: npx brings Claude Code and Codex, pip the clients of Python into a folder that is gone
// afterwards. CLAUDE, CODEX and PYTHON name what is to be used instead.
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startScene } from '../support/inference-scene.ts'
import { messagesConfig } from '../support/messages-scene.ts'
import type { Behaviour, Recorded } from '../support/upstream.ts'
import { CLIENTS, type Client, type Where } from './clients.ts'

const run = promisify(execFile)
const WITHIN_MS = 120_000
const LAST = 'The tool was run, and this is the end.'

/** A tool first, where the client has it; then, once its result came, the last word. */
const manner =
  ({ tool }: Client) =>
  ({ body }: Recorded): Behaviour => {
    const has_tool = JSON.stringify(body?.tools ?? []).includes(`"${tool.name}"`)
    const has_result = /"tool_result"|"role":"tool"/.test(JSON.stringify(body?.messages ?? []))
    return has_tool && !has_result ? { tool_calls: [tool] } : { text: LAST }
  }

/** A Python with its clients, in a folder of its own. */
async function pythonIn(folder: string): Promise<string> {
  const python = join(folder, 'bin', 'python')
  await run('python3', ['-m', 'venv', folder])
  await run(python, ['-m', 'pip', 'install', '--quiet', 'anthropic', 'langchain-anthropic'], { timeout: 2 * WITHIN_MS })
  return python
}

async function attempt(client: Client, where: Omit<Where, 'home'>): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), 'switchyard-client-'))
  try {
    const { command, args, env } = client.start({ ...where, home })
    const started = run(command, args, {
      cwd: home,
      timeout: WITHIN_MS,
      env: { PATH: process.env.PATH, HOME: home, ...env },
    })
    started.child.stdin?.end() // some wait for more of the question
    const { stdout, stderr } = await started
    return stdout.includes(LAST) ? 'ok' : `said: ${(stdout + stderr).slice(-600)}`
  } catch (error) {
    const { message, stdout = '', stderr = '' } = error as Error & { stdout?: string; stderr?: string }
    return `failed: ${(stdout + stderr || message).slice(-600)}`
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

async function versionOf(client: Client, python: string): Promise<string> {
  const { command, args } = client.version(python)
  return (await run(command, args, { timeout: WITHIN_MS })).stdout.trim()
}

const named = process.argv.slice(2)
const wanted = CLIENTS.filter(({ name }) => named.length === 0 || named.includes(name))
const folder = mkdtempSync(join(tmpdir(), 'switchyard-python-'))
const scene = await startScene({ config: messagesConfig })
let failures = 0
try {
  const python = process.env.PYTHON ?? (await pythonIn(folder))
  for (const client of wanted) {
    process.stdout.write(`${client.name}: ${await versionOf(client, python)}\n`)
    for (const over of client.over) {
      const stage = await scene.stage()
      stage.one.behave(manner(client))
      const model = over === 'messages' ? 'claude' : stage.model
      const said = await attempt(client, { model, key: stage.key, origin: scene.origin, python })
      const { spent, events } = await stage.audit()
      if (said !== 'ok') failures++
      process.stdout.write(`  over ${over}: ${said}; ${events.length} generations, ${spent} micro-USD\n`)
    }
  }
} finally {
  await scene.stop()
  rmSync(folder, { recursive: true, force: true })
}
process.exitCode = failures > 0 ? 1 : 0
