// Random histories against a model: fast-check makes up the commands, the model says what each must answer. A failure
// prints its seed, its path and its shortest history; SIM_SEED=… runs the same again, SIM_RUNS=… runs more.
import { randomInt } from 'node:crypto'
import fc from 'fast-check'
import { ENGINE } from './databases.ts'
import { sized } from './sizes.ts'

const COMMANDS_MAX = 40
const seed = Number(process.env.SIM_SEED ?? randomInt(2 ** 31 - 1))
// Twice as many as the planted bug takes that is the hardest to notice. Every run has other ones.
const runs = Number(process.env.SIM_RUNS ?? sized(ENGINE === 'sqlite' ? 80 : 20, 10))

export type Command<Model extends object, Real> = fc.AsyncCommand<Model, Real>

export interface Simulation<Model extends object, Real> {
  name: string
  commands: fc.Arbitrary<Command<Model, Real>>[]
  /** What each history begins with. */
  start(): Promise<{ model: Model; real: Real }>
}

function historyOf<Model extends object, Real>({ commands, start }: Simulation<Model, Real>) {
  const histories = fc.commands(commands, { maxCommands: COMMANDS_MAX, size: 'max' })
  return fc.asyncProperty(histories, (history) => fc.asyncModelRun(start, history))
}

/** Throws on the first history in which the service and the model part ways. */
export async function simulate<Model extends object, Real>(simulation: Simulation<Model, Real>): Promise<void> {
  process.stdout.write(`${simulation.name}: ${runs} histories on ${ENGINE}, SIM_SEED=${seed}\n`)
  await fc.assert(historyOf(simulation), { seed, numRuns: runs })
}

const PLANTED_SEED = 7 // a planted bug must be noticed in every run of the tests, not in most
const PLANTED_RUNS = 1_000

/** Whether the simulation notices what is wrong; the history is not shrunk, since it is expected. */
export async function notices<Model extends object, Real>(simulation: Simulation<Model, Real>): Promise<boolean> {
  const settings = { seed: PLANTED_SEED, numRuns: PLANTED_RUNS, endOnFailure: true }
  return (await fc.check(historyOf(simulation), settings)).failed
}

/** A command without conditions: the model answers for any state. */
export function command<Model extends object, Real>(
  describe: string,
  run: (model: Model, real: Real) => Promise<void>,
): Command<Model, Real> {
  return { check: () => true, run, toString: () => describe }
}
