// The fuzzer as a process of its own, so that its memory is its own, with SEED INPUTS as its arguments and --expose-gc.
// Prints its figures as one line of JSON.
import { fuzz } from './fuzz.ts'
import { buildTestService } from './service.ts'

const [seed, inputs] = process.argv.slice(2).map(Number)
const service = await buildTestService()
const figures = await fuzz(service, seed ?? 1, inputs ?? 1_000)
await service.stop()
process.stdout.write(`${JSON.stringify(figures)}\n`)
