// What the transcripts are taken from: the real server as a process, once with no provider and once with several, one
// programmable upstream behind all of them, two clusters that heartbeat, and curl.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../test/support/free-port.ts'
import { startUpstream } from '../test/support/upstream.ts'
import { type ServerProcess, spawnServer } from '../test/torture/server-process.ts'
import { firstStart } from './first-minutes.ts'
import { run, SHOWN_ORIGIN } from './transcript-commands.ts'

export interface Curl {
  path: string
  /** The name of the shell's variable that holds the key. */
  key?: string
  headers?: readonly string[]
  body?: object
  /** Parts of a form, as curl takes them; a file lies in the folder of the scene. */
  form?: readonly string[]
  /** Without the head of the answer, where its length differs from run to run. */
  quiet?: boolean
}

export type TranscriptScene = Awaited<ReturnType<typeof openTranscriptScene>>

export interface Section {
  title: string
  says: string
  take(scene: TranscriptScene): Promise<string>
}

const PRICE = 'input_usd_per_million: 0.15, cached_input_usd_per_million: 0.075, output_usd_per_million: 0.60'

export async function openTranscriptScene() {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-transcripts-'))
  let read = 0 // how often the prefix of the reader was sent
  const upstream = await startUpstream(({ body, path }) => {
    if (path.startsWith('/broken')) return { status: 500, body: '{}' }
    if (body?.model === 'reader')
      return { text: 'Within two days.', usage: { input: 120, output: 6, cached: read++ === 0 ? 0 : 96 } }
    return body?.model === 'slow'
      ? { instead: 'silence' }
      : { text: 'Hello!', chunks: 2, usage: { input: 120, output: 60, cached: 40 } }
  })
  const running: ServerProcess[] = []

  async function start(name: string, providers: string) {
    const token = `svc_live_${randomBytes(32).toString('hex')}`
    const port = await freePort()
    const config = join(folder, `${name}.yaml`)
    writeFileSync(config, providers)
    const env = { SWITCHYARD_DATA_DIR: join(folder, name), SWITCHYARD_BOOTSTRAP_KEY: token, SWITCHYARD_CONFIG: config }
    const server = spawnServer({
      port,
      folder,
      log_file: join(folder, 'server.log'),
      env: { ...env, SWITCHYARD_DRAIN_MS: '0' },
    })
    running.push(server)
    await server.ready
    return site(`http://127.0.0.1:${port}`, token)
  }

  return {
    upstream,
    file(name: string, contents: string): string {
      writeFileSync(join(folder, name), contents)
      return join(folder, name)
    },
    first: await firstStart(folder, (server) => running.push(server)),
    placeholder: await start('placeholder', ''),
    live: await start('live', providersAt(upstream.origin)),
    async close(): Promise<void> {
      for (const server of running) await server.kill()
      await upstream.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function providersAt(origin: string): string {
  const provider = (id: string, path: string, ...models: string[]) =>
    `  - { id: ${id}, base_url: "${origin}${path}/v1", api_key: sk-upstream, region: us, byok: true, models: [${models
      .map((model) => `{ id: ${model}, ${PRICE}, max_output_tokens: 1000 }`)
      .join(', ')}] }`
  return `providers:
${provider('openai', '', 'gpt-4o-mini', 'slow', 'reader')}
${provider('primary', '/broken', 'twice-served')}
${provider('backup', '', 'twice-served')}
${provider('mistral', '', 'mistral-small')}
${provider('groq', '', 'llama-3.3-70b')}
retention: { full_fidelity: true }
`
}

export type Site = ReturnType<typeof site>

/** One server, to be set up over its API and then asked with curl. */
function site(origin: string, token: string) {
  const keys: Record<string, string> = { KEY: token }

  async function post(path: string, body: object) {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const reply = await fetch(`${origin}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    if (!reply.ok) throw new Error(`POST ${path} answered ${reply.status}: ${await reply.text()}`)
    return (await reply.json()) as { id: string; key: string; project_id: string }
  }

  return {
    origin,
    token,
    post,
    /** A key of its own, under this name in the transcript. */
    async newKey(name: string) {
      const made = await post('/v2/api-keys', { name: name.toLowerCase() })
      keys[name] = made.key
      return made
    },
    /** The command as one would type it, and what curl printed. */
    async curl({ path, key = 'KEY', headers = [], body, form = [], quiet = false }: Curl): Promise<string> {
      const json = body && JSON.stringify(body)
      const shown = [
        `curl ${quiet ? '-s' : '-i'} ${quoted(`${SHOWN_ORIGIN}${path}`)}`,
        `-H "Authorization: Bearer $${key}"`,
        ...headers.map((header) => `-H '${header}'`),
        ...(json ? [`-H 'Content-Type: application/json'`, `-d '${json}'`] : []),
        ...form.map((part) => `-F '${part.replace(/@[^;]*\//, '@')}'`),
      ]
      const all = [
        `Authorization: Bearer ${keys[key]}`,
        ...headers,
        ...(json ? ['Content-Type: application/json'] : []),
      ]
      const args = [
        quiet ? '-sS' : '-isS',
        `${origin}${path}`,
        ...all.flatMap((header) => ['-H', header]),
        ...(json ? ['-d', json] : []),
        ...form.flatMap((part) => ['-F', part]),
      ]
      const printed = await run('curl', args)
      return `$ ${shown.join(' \\\n    ')}\n${printed.replaceAll('\r', '').replace(/\n*$/, '\n')}`
    },
  }
}

const quoted = (url: string) => (url.includes('&') ? `'${url}'` : url)
