// A Dockerfile followed without Docker: each stage in a folder of its own, which gets exactly what the ignore file lets
// through and the COPY lines name, and in which the RUN lines run. The base image is what this machine has.
import { spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join, posix, relative, resolve } from 'node:path'

export interface Instruction {
  name: string
  text: string
}

export interface Stage {
  base: string
  /** What other stages call it; the last one has no name. */
  name: string
  instructions: Instruction[]
}

export interface BuiltStage {
  /** Stands for `/` of the stage. */
  root: string
  work_dir: string
  env: Record<string, string>
  command: string[]
  health_check: string[]
}

export function stagesOf(dockerfile: string): Stage[] {
  const lines = dockerfile
    .replace(/^\s*#.*\n/gm, '')
    .replace(/\\\n\s*/g, ' ')
    .split('\n')
  const stages: Stage[] = []
  for (const line of lines.filter((one) => one.trim() !== '')) {
    const [, name = '', text = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? []
    if (name !== 'FROM') stages.at(-1)?.instructions.push({ name, text })
    else {
      const [base = '', , as = ''] = text.split(/\s+/)
      stages.push({ base, name: as, instructions: [] })
    }
  }
  return stages
}

/** Docker's rules: a pattern speaks for all below it, the last one that matches decides, `!` lets in. */
export function letsThrough(ignore_file: string): (path: string) => boolean {
  const rules = ignore_file
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ lets_in: line.startsWith('!'), pattern: patternOf(line.replace(/^!/, '')) }))
  return (path) => rules.findLast(({ pattern }) => pattern.test(path))?.lets_in ?? true
}

function patternOf(line: string): RegExp {
  const body = line
    .replace(/^\/|\/$/g, '')
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replace(/\*\*\/|\*\*|\*|\?/g, (sign) => ({ '**/': '(?:.*/)?', '**': '.*', '*': '[^/]*', '?': '[^/]' })[sign] ?? '')
  return new RegExp(`^${body}(?:/.*)?$`)
}

/** What a build gets to see of a folder. */
export function copyContext(from: string, to: string, ignore_file: string): void {
  const passes = letsThrough(ignore_file)
  // A folder that is ignored may hold something that is not; none of the large ones is entered for that.
  const visit = (path: string): void => {
    if (statSync(join(from, path)).isDirectory()) {
      if (path === '' || passes(path)) for (const name of readdirSync(join(from, path))) visit(posix.join(path, name))
    } else if (passes(path)) cpSync(join(from, path), join(to, path))
  }
  mkdirSync(to, { recursive: true })
  visit('')
}

/** `owner` stands for the user of the image wherever a RUN line names it. */
export async function buildStages(stages: readonly Stage[], context: string, folder: string, owner: string) {
  const built = new Map<string, Promise<BuiltStage>>()
  for (const [index, stage] of stages.entries()) {
    const root = join(folder, stage.name || `stage-${index}`)
    built.set(stage.name || 'last', buildStage(stage, { root, context, owner, others: built }))
  }
  const all = await Promise.all(built.values())
  return all.at(-1) as BuiltStage
}

interface Surroundings {
  root: string
  context: string
  owner: string
  others: ReadonlyMap<string, Promise<BuiltStage>>
}

async function buildStage(
  { instructions }: Stage,
  { root, context, owner, others }: Surroundings,
): Promise<BuiltStage> {
  const stage: BuiltStage = { root, work_dir: root, env: {}, command: [], health_check: [] }
  mkdirSync(root, { recursive: true })
  for (const { name, text } of instructions) {
    if (name === 'WORKDIR') stage.work_dir = newFolder(join(root, text))
    else if (name === 'ENV')
      for (const [, key = '', value = ''] of text.matchAll(/(\w+)=(\S+)/g)) stage.env[key] = value
    else if (name === 'COPY') await copy(text, stage, { context, others })
    else if (name === 'RUN' && (await isInstalledAlready(text, stage))) continue
    else if (name === 'RUN') await run(inside(text, root, owner), stage)
    else if (name === 'CMD') stage.command = JSON.parse(text)
    else if (name === 'HEALTHCHECK') stage.health_check = JSON.parse(text.slice(text.indexOf('[')))
    else if (!['VOLUME', 'USER', 'EXPOSE', 'STOPSIGNAL', 'LABEL'].includes(name)) throw new Error(`What is ${name}?`)
  }
  return stage
}

const INSTALL = 'npm ci --ignore-scripts'
const INSTALL_NEEDED = `${INSTALL} --omit=dev`
const INSTALLED = 'node_modules/.package-lock.json'

interface Lock {
  packages: Record<string, { version?: string; integrity?: string; optional?: boolean }>
}

const readLock = (path: string): Lock => JSON.parse(readFileSync(path, 'utf8'))

/**
 * What this checkout was installed with stands for what would be installed, where that is what the lock file says, to the
 * hash: to unpack the same packages once more would take longer than all else of a build.
 */
async function isInstalledAlready(command: string, stage: BuiltStage): Promise<boolean> {
  if (![INSTALL, INSTALL_NEEDED].includes(command) || !existsSync(INSTALLED)) return false
  const { packages: here } = readLock(INSTALLED)
  const isHere = ([path, { version, integrity, optional }]: [string, Lock['packages'][string]]) =>
    path === '' || (here[path] ? here[path].version === version && here[path].integrity === integrity : optional)
  if (!Object.entries(readLock(join(stage.work_dir, 'package-lock.json')).packages).every(isHere)) return false
  if (command === INSTALL_NEEDED) return linkNeeded(stage)
  const place = newFolder(join(stage.work_dir, 'node_modules'))
  for (const name of readdirSync('node_modules')) symlinkSync(resolve('node_modules', name), join(place, name))
  return true
}

/** npm itself reads the two files, refuses what is wrong with them, and says which packages it would put where. */
async function linkNeeded(stage: BuiltStage): Promise<boolean> {
  const said = await run(`${INSTALL_NEEDED} --dry-run --json`, stage)
  const { add }: { add: { path: string }[] } = JSON.parse(said.slice(said.indexOf('\n{') + 1))
  const paths = new Set(add.map(({ path }) => relative(stage.work_dir, path)))
  const outer = [...paths].filter((path) => path.lastIndexOf('node_modules/') === 0)
  const { packages, ...lock } = readLock(INSTALLED)
  // With a package comes what is in it; npm would have to want that too.
  const linked = Object.keys(packages).filter((path) => outer.some((one) => path === one || path.startsWith(`${one}/`)))
  if (linked.length !== paths.size || !linked.every((path) => paths.has(path))) return false
  if (spawnSync('cp', ['-al', '--parents', ...outer, stage.work_dir]).status !== 0) return false
  const needed = Object.fromEntries(linked.map((path) => [path, packages[path]]))
  writeFileSync(join(stage.work_dir, INSTALLED), JSON.stringify({ ...lock, packages: needed }))
  return true
}

function newFolder(path: string): string {
  mkdirSync(path, { recursive: true })
  return path
}

/** Absolute paths are those of the stage, and its user is one that this machine has. */
const inside = (command: string, root: string, owner: string) =>
  command.replace(/(?<=\s)\/(?=[a-z])/g, `${root}/`).replace('-o node -g node', owner)

async function copy(text: string, { work_dir }: BuiltStage, { context, others }: Omit<Surroundings, 'root' | 'owner'>) {
  const words = text.split(/\s+/)
  const from = /^--from=(\w+)$/.exec(words[0] ?? '')?.[1]
  const place = from === undefined ? context : (await others.get(from))?.root
  const target = words.at(-1) as string
  for (const source of words.slice(from === undefined ? 0 : 1, -1)) {
    const path = join(place ?? `there is no stage ${from}`, source)
    if (!existsSync(path)) throw new Error(`COPY ${text}: '${source}' is not there`)
    if (statSync(path).isDirectory()) copyFolder(path, join(work_dir, target))
    else cpSync(path, join(work_dir, target, target.endsWith('/') ? basename(source) : ''))
  }
}

/** Thousands of small files: a program of the system's takes a third of the time that Node takes. */
function copyFolder(from: string, to: string): void {
  const { status, stderr } = spawnSync('cp', ['-R', `${from}/.`, newFolder(to)])
  if (status !== 0) throw new Error(stderr.toString())
}

/** What it printed, without its complaints. */
function run(command: string, { work_dir, env }: BuiltStage): Promise<string> {
  return new Promise((done, reject) => {
    const { PATH = '', HOME = '' } = process.env
    const cached = { npm_config_prefer_offline: 'true', npm_config_update_notifier: 'false' }
    const child = spawn('sh', ['-c', command], { cwd: work_dir, env: { PATH, HOME, ...cached, ...env } })
    let [printed, said] = ['', '']
    child.stdout.on('data', (part) => (printed += part))
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (said += part))
    child.once('error', reject)
    child.once('close', (code) =>
      code === 0 ? done(printed) : reject(new Error(`RUN ${command} ended with ${code}:\n${said.slice(-2_000)}`)),
    )
  })
}

export const readStages = () => stagesOf(readFileSync('deploy/Dockerfile', 'utf8'))
