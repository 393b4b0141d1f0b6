// `npm run clients`: agents and clients as people run them, unmodified, against the real server: over an upstream that
// speaks Messages, and over one that speaks chat. Each calls a tool once and ends with what the upstream says then. What
// is not installed is left out, and said: npx fetches Claude Code and Codex; PYTHON names a Python that has `anthropic`
// and `langchain-anthropic`.
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startScene } from '../support/inference-scene.ts'
import { messagesConfig } from '../support/messages-scene.ts'
import type { Behaviour, Recorded } from '../support/upstream.ts'
import { CLIENTS, type Client } from './clients.ts'

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

async function attempt(client: Client, model: string, key: string, origin: string): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), 'switchyard-client-'))
  try {
    const { command, args, env } = client.start({ model, key, origin, home })
    const started = run(command, args, {
      cwd: home,
      timeout: WITHIN_MS,
      env: { PATH: process.env.PATH, HOME: home, ...env },
    })
    started.child.stdin?.end() // some wait for more of the question
    const { stdout, stderr } = await started
    return stdout.includes(LAST) ? 'ok' : `said: ${(stdout + stderr).slice(-600)}`
  } catch (error) {
    const { code, stdout = '', stderr = '' } = error as { code?: unknown; stdout?: string; stderr?: string }
    return code === 'ENOENT' ? 'not installed' : `failed: ${(stdout + stderr).slice(-600)}`
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

const scene = await startScene({ config: messagesConfig })
let failures = 0
const wanted = process.argv.slice(2)
for (const client of CLIENTS.filter(({ name }) => wanted.length === 0 || wanted.includes(name)))
  for (const over of client.over) {
    const stage = await scene.stage()
    stage.one.behave(manner(client))
    const model = over === 'messages' ? 'claude' : over === 'chat' ? stage.model : over
    const said = await attempt(client, model, stage.key, scene.origin)
    const { spent, events } = await stage.audit()
    if (said !== 'ok' && said !== 'not installed') failures++
    process.stdout.write(`${client.name} over ${over}: ${said}; ${events.length} generations, ${spent} micro-USD\n`)
  }
await scene.stop()
process.exitCode = failures > 0 ? 1 : 0
