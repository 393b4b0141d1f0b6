// What stands behind and beside the service under test: the mock upstream, the bare proxies, Portkey's gateway.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../test/support/free-port.ts'
import type { Front } from './bare-proxy.ts'
import { LOAD_CORE, ROOT, type ServerProcess, startProcess } from './processes.ts'

const PORTKEY = '@portkey-ai/gateway'
const PORTKEY_VERSION = '1.15.2'
const PORTKEY_FOLDER = join(ROOT, '.cache', `portkey-${PORTKEY_VERSION}`)
const INSTALL_WITHIN_MS = 180_000

export async function startUpstream(env: Record<string, string> = {}, core = LOAD_CORE): Promise<ServerProcess> {
  const PORT = String(await freePort())
  return startProcess({ name: 'upstream', script: 'bench/mock-upstream.ts', env: { ...env, PORT }, core, ready: '/' })
}

export async function startBareProxy(upstream: ServerProcess, FRONT: Front): Promise<ServerProcess> {
  const env = { PORT: String(await freePort()), UPSTREAM: upstream.url, FRONT }
  return startProcess({ name: `bare ${FRONT}`, script: 'bench/bare-proxy.ts', env, ready: '/' })
}

export interface Portkey {
  server: ServerProcess
  headers: Record<string, string>
}

/** From its npm package, fetched once into a folder that git ignores. Where it cannot be had, why. */
export async function startPortkey(upstream: ServerProcess): Promise<Portkey | string> {
  try {
    const script = fetchPortkey()
    const PORT = String(await freePort())
    const args = ['--headless', `--port=${PORT}`]
    const server = await startProcess({ name: 'portkey', script, args, env: { PORT }, cwd: PORTKEY_FOLDER, ready: '/' })
    return { server, headers: { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': upstream.url } }
  } catch (error) {
    return `Portkey's gateway ${PORTKEY_VERSION} could not be had: ${(error as Error).message.split('\n')[0]}`
  }
}

function fetchPortkey(): string {
  const script = join(PORTKEY_FOLDER, 'node_modules', PORTKEY, 'build/start-server.js')
  if (existsSync(script)) return script
  const flags = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--omit=dev', '--prefix', PORTKEY_FOLDER]
  execFileSync('npm', ['install', ...flags, `${PORTKEY}@${PORTKEY_VERSION}`], {
    stdio: 'pipe',
    timeout: INSTALL_WITHIN_MS,
  })
  return script
}
