// What a run says at its end: its figures, each check with what it found, and whether that is a pass.
import { CHECKS, type CheckName, type Verdict } from './checker.ts'
import type { Plant } from './plants.ts'
import type { Engine, Scene } from './scene.ts'

export interface Check {
  name: string
  /** One line for each violation. */
  found: readonly string[]
}

export interface Report {
  title: string
  seed: number
  figures: Record<string, string | number>
  checks: readonly Check[]
  took_ms: number
  /** Where the servers' log and the embedded store are kept after a failure. */
  kept?: string | undefined
}

export interface Run {
  command: string
  engine: Engine
  plant?: Plant | undefined
  seed: number
}

export interface Findings {
  figures: Report['figures']
  checks: readonly Check[]
  /** The run made the store fail on purpose, so the servers were right to log errors. */
  provoked_errors?: boolean
}

/** Does the work and tidies up after it; what an unexpected failure left is kept for whoever looks into it. */
export async function report(
  scene: Scene,
  { command, engine, plant, seed }: Run,
  work: () => Promise<Findings>,
): Promise<Report> {
  const started_ms = performance.now()
  let keep = true
  try {
    const { figures, checks: own, provoked_errors } = await work()
    const logged = { name: "errors in the servers' log", found: scene.loggedErrors() }
    const checks = provoked_errors ? own : [...own, logged]
    keep = !plant && !isClean({ checks })
    return {
      title: `torture ${command} on ${engine}${plant ? `, planted ${plant}` : ''}`,
      ...{ seed, figures, checks, took_ms: performance.now() - started_ms },
      kept: keep ? scene.folder : undefined,
    }
  } finally {
    await scene.close({ keep })
  }
}

const EXAMPLES_MAX = 3

export const verdictChecks = (verdict: Verdict): Check[] =>
  Object.entries(CHECKS).map(([key, name]) => ({ name, found: verdict[key as CheckName] }))

export const isClean = ({ checks }: Pick<Report, 'checks'>) => checks.every(({ found }) => found.length === 0)

/** The violations of one check, for a test to count. */
export const found = (report: Report, name: CheckName): readonly string[] => foundBy(report, CHECKS[name])

/** The same, by what the check is called in the table. */
export function foundBy({ checks }: Report, title: string): readonly string[] {
  return checks.find((one) => one.name === title)?.found ?? []
}

export function table(report: Report): string {
  const { title, seed, figures, checks, took_ms, kept } = report
  const width = Math.max(...[...Object.keys(figures), ...checks.map(({ name }) => name)].map(({ length }) => length))
  const line = (label: string, value: string) => `  ${label.padEnd(width)}  ${value}`
  return [
    `${title}, seed ${seed}`,
    '',
    ...Object.entries(figures).map(([label, value]) => line(label, value.toLocaleString('en'))),
    '',
    ...checks.flatMap(({ name, found }) => [
      line(name, `${String(found.length).padStart(6)}  ${found.length === 0 ? 'pass' : 'FAIL'}`),
      ...found.slice(0, EXAMPLES_MAX).map((text) => `      ${text}`),
    ]),
    '',
    `${isClean(report) ? 'PASS' : 'FAIL'} in ${(took_ms / 1000).toFixed(1)} s`,
    ...(kept ? [`What the run left, the servers' log among it, is kept in ${kept}`] : []),
  ].join('\n')
}
