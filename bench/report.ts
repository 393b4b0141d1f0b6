// What a run found, for machines: a JSON file per run, with what is needed to compare it with another.
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, totalmem } from 'node:os'
import { join } from 'node:path'
import { ROOT } from './processes.ts'

const FOLDER = join(ROOT, 'bench/reports')
const sections: Record<string, unknown> = {}

export function reportsFolder(): string {
  mkdirSync(FOLDER, { recursive: true })
  return FOLDER
}

export function record(title: string, section: unknown): void {
  sections[title] = section
}

function git(...args: string[]): string {
  try {
    return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return 'unknown'
  }
}

/** Of files that are part of the program; reports and caches are ignored by git. */
const isChanged = () => git('status', '--porcelain') !== ''

/** One line that every table should stand under: without it, a figure belongs to nothing. */
export function circumstances(): string {
  const [cpu] = cpus()
  const commit = `${git('rev-parse', '--short', 'HEAD')}${isChanged() ? ' with changes' : ''}`
  const load = loadavg().map((value) => value.toFixed(1))
  const machine = `${cpus().length} × ${cpu?.model.trim()}, load average ${load.join(' ')}`
  return `${new Date().toISOString().slice(0, 16)}Z, commit ${commit}, Node ${process.version}, ${machine}`
}

/** Writes what was recorded; the path, or nothing where nothing was. */
export function writeReport(command: readonly string[]): string | undefined {
  if (Object.keys(sections).length === 0) return undefined
  const [cpu] = cpus()
  const at = new Date().toISOString()
  const report = {
    at,
    command,
    commit: git('rev-parse', 'HEAD'),
    changed: isChanged(),
    node: process.version,
    machine: { cpu: cpu?.model.trim(), cores: cpus().length, memory_bytes: totalmem(), load_average: loadavg() },
    sections,
  }
  const path = join(reportsFolder(), `${at.replace(/[:.]/g, '-')}.json`)
  writeFileSync(path, `${JSON.stringify(report, null, 2)}\n`)
  return path
}
