// Interleaved rounds over several servers, and what they came to: processor time and rate, as ratios to the first.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { LoadPlan, LoadResult } from './load.ts'
import { LOAD_CORE, type ServerProcess } from './processes.ts'

const run = promisify(execFile)

export interface Contender {
  name: string
  server: ServerProcess
  plan: Omit<LoadPlan, 'port' | 'connections' | 'seconds'>
}

export interface Round {
  name: string
  cpu_us: number
  per_second: number
  p50_ms: number
  p99_ms: number
  failures: number
}

export interface Conditions {
  rounds: number
  seconds: number
  connections: number
}

export async function measure(contenders: readonly Contender[], conditions: Conditions): Promise<Round[][]> {
  for (const contender of contenders) await oneRound(contender, { ...conditions, seconds: 1 }) // warm up
  const rounds: Round[][] = []
  for (let at = 0; at < conditions.rounds; at++) {
    const round: Round[] = []
    for (const contender of contenders) round.push(await oneRound(contender, conditions))
    rounds.push(round)
  }
  return rounds
}

async function oneRound({ name, server, plan }: Contender, { seconds, connections }: Conditions): Promise<Round> {
  const whole: LoadPlan = { ...plan, port: Number(new URL(server.url).port), connections, seconds }
  const before = server.cpuMicros()
  const { stdout } = await run('taskset', [
    '-c',
    LOAD_CORE,
    process.execPath,
    '--import',
    'tsx',
    'bench/load.ts',
    JSON.stringify(whole),
  ])
  const result: LoadResult = JSON.parse(stdout)
  const cpu_us = (server.cpuMicros() - before) / Math.max(1, result.requests)
  const { p50_ms, p99_ms, failures } = result
  return { name, cpu_us, per_second: result.requests / result.seconds, p50_ms, p99_ms, failures }
}

export interface Summary extends Round {
  cpu_ratio: number
  rate_ratio: number
}

/** Medians of each contender, and of its ratios to the first contender of the same round. */
export function summarize(rounds: readonly Round[][]): Summary[] {
  const names = rounds[0]?.map((round) => round.name) ?? []
  return names.map((name, at) => {
    const own = rounds.map((round) => round[at] as Round)
    const median = (value: (round: Round, base: Round) => number) =>
      middle(own.map((round, index) => value(round, rounds[index]?.[0] as Round)))
    return {
      name,
      cpu_us: median((round) => round.cpu_us),
      per_second: median((round) => round.per_second),
      p50_ms: median((round) => round.p50_ms),
      p99_ms: median((round) => round.p99_ms),
      failures: own.reduce((sum, round) => sum + round.failures, 0),
      cpu_ratio: median((round, base) => round.cpu_us / base.cpu_us),
      rate_ratio: median((round, base) => round.per_second / base.per_second),
    }
  })
}

function middle(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? 0
}

export function table(title: string, summaries: readonly Summary[]): string {
  const rows = summaries.map((s) => [
    s.name,
    s.cpu_us.toFixed(1),
    `${s.cpu_ratio.toFixed(2)} ×`,
    s.per_second.toFixed(0),
    `${s.rate_ratio.toFixed(2)} ×`,
    s.p50_ms.toFixed(2),
    s.p99_ms.toFixed(2),
    String(s.failures),
  ])
  const head = ['', 'CPU µs/request', 'ratio', 'requests/s', 'ratio', 'p50 ms', 'p99 ms', 'failures']
  const widths = head.map((text, at) => Math.max(text.length, ...rows.map((row) => (row[at] ?? '').length)))
  const line = (cells: string[]) =>
    cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join('  ')
  return [`\n${title}`, line(head), ...rows.map(line)].join('\n')
}
