// The real terraform, with the provider of terraform/ built from the sources, in a folder and against a server of its own.
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Ended, Environment } from './command.ts'
import { endsWithUs } from './ends-with-us.ts'

/** Both are needed: one runs the provider, the other builds it. Older ones know no write-only arguments, or not the module. */
const MISSING = [...(hasTerraform() ? [] : ['terraform 1.11']), ...(hasGo() ? [] : ['go 1.25'])]

function hasTerraform(): boolean {
  const { stdout, status } = spawnSync('terraform', ['version', '-json'], { encoding: 'utf8' })
  if (status !== 0) return false
  const [major = 0, minor = 0] = JSON.parse(stdout).terraform_version.split('.').map(Number)
  return major > 1 || minor >= 11
}

function hasGo(): boolean {
  const env = { ...process.env, GOTOOLCHAIN: 'local' }
  return spawnSync('go', ['list', '-m'], { cwd: 'terraform', env }).status === 0
}

const MIRROR = resolve('dist/terraform')

// Not inlined, and without what a debugger wants: two thirds of the compiler's time, and the same program to Terraform.
const QUICKLY = { ...process.env, GOFLAGS: "'-gcflags=all=-l -dwarf=false'" }
const FEW = 20 // packages of four hundred: our own, and what changed beside them

/** Why it cannot be tried here; undefined where it can. */
export function whyNot(): string | undefined {
  if (MISSING.length > 0) return `there is no ${MISSING.join(' and no ')} here`
  // Two minutes and more of such a machine, where it is a few seconds once it was done.
  if (process.env.TEST_FIRST_BUILDS === 'no' && packagesToBuild() > FEW)
    return 'this machine is slow, and Go has not built the provider here before'
  return undefined
}

/** What Go would compile, with the settings of scripts/terraform-mirror.mjs: with others all of it is new. */
function packagesToBuild(): number {
  const args = ['list', '-trimpath', '-deps', '-f', '{{if .Stale}}{{.ImportPath}}{{end}}', '.']
  const env = { ...QUICKLY, CGO_ENABLED: '0' }
  const { stdout } = spawnSync('go', args, { cwd: 'terraform', env, encoding: 'utf8' })
  return stdout.split('\n').filter(Boolean).length
}

/** Seconds, where Go has built it before; else half a minute, and its modules are fetched. */
export const buildProvider = () =>
  promisify(execFile)(process.execPath, ['scripts/terraform-mirror.mjs'], { env: QUICKLY })

export function terraformPlace(env: Environment) {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-terraform-'))
  mkdirSync(join(folder, 'home'))
  const config = join(folder, 'home/terraformrc')
  const excluded = 'direct {\n exclude = ["terraform.local/*/*"]\n}'
  const mirror = `filesystem_mirror {\n path = ${JSON.stringify(MIRROR)}\n include = ["terraform.local/*/*"]\n}`
  writeFileSync(config, `provider_installation {\n${mirror}\n${excluded}\n}\n`)
  const environment = {
    ...{ PATH: process.env.PATH ?? '', HOME: join(folder, 'home'), TF_CLI_CONFIG_FILE: config },
    ...{ CHECKPOINT_DISABLE: '1', TF_IN_AUTOMATION: '1', TF_INPUT: '0' },
    ...env,
  }

  const read = (name: string) => readFileSync(join(folder, name), 'utf8')
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text)

  function start(args: readonly string[], more: Environment = {}) {
    // In a group of its own: what it starts ends with it.
    const options = { cwd: folder, env: { ...environment, ...more }, detached: true }
    const child = spawn('terraform', [...args], { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    endsWithUs(child)
    const said = { stdout: '', stderr: '' }
    for (const stream of ['stdout', 'stderr'] as const)
      child[stream].setEncoding('utf8').on('data', (text) => {
        said[stream] += text
      })
    const ended = new Promise<Ended>((done) => void child.once('close', (code) => done({ code, ...said })))
    return { child, ended }
  }

  const run = (args: readonly string[], more: Environment = {}) => start([...args, '-no-color'], more).ended

  /** What the state says of a resource. */
  // biome-ignore lint/suspicious/noExplicitAny: the attributes are those of the resource
  function attributes(type: string, name: string): any {
    const { resources } = JSON.parse(read('terraform.tfstate'))
    const found = resources.find((one: { type: string; name: string }) => one.type === type && one.name === name)
    return found?.instances[0]?.attributes
  }

  const leave = () => rmSync(folder, { recursive: true, force: true })
  return { read, write, start, run, attributes, leave }
}

/** As a power cut would: terraform and its providers at once. */
export const killGroup = (child: ChildProcess) => void process.kill(-(child.pid as number), 'SIGKILL')

/** Stands before a server, and can keep an answer to itself: the server did it, and nobody hears of it. */
export async function holdingProxy(target: string) {
  const seen: { method: string; path: string; key: string | undefined }[] = []
  let held: { path: string; tell(): void }[] = []
  let losing: Set<string> | undefined
  const server = createServer((from, to) => {
    const { method = '', url: path = '', headers } = from
    seen.push({ method, path, key: headers['agent-idempotency-key'] as string | undefined })
    const onward = request(new URL(path, target), { method, headers }, (answer) => {
      const waiting = method === 'POST' && held.find((one) => one.path === path)
      if (waiting) {
        answer.resume().once('end', waiting.tell)
        return
      }
      const once = `${path} ${headers['agent-idempotency-key']}`
      if (losing && method === 'POST' && !losing.has(once)) {
        losing.add(once)
        answer.resume().once('end', () => to.destroy())
        return
      }
      to.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(to)
    })
    onward.on('error', () => to.destroy())
    from.pipe(onward)
  })
  await new Promise<void>((listening) => void server.listen(0, '127.0.0.1', listening))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    /** From now on the answer to such a POST is kept back; resolves when the server has given it. */
    hold: (path: string) => new Promise<void>((tell) => void held.push({ path, tell })),
    letGo() {
      held = []
    },
    /** The first answer to each POST is lost: the server did it, and the connection breaks. */
    loseAnswers(on: boolean) {
      losing = on ? new Set() : undefined
    },
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
