// `switchyard plan`: §4.9 over HTTP, from a file or from standard input.
import { readFileSync } from 'node:fs'
import { text as textOf } from 'node:stream/consumers'
import type { Command } from 'commander'
import type { CachePlan } from '../../src/cache-plan/cache-plan.ts'
import { type Printing, print, service, withExample, withJson } from '../command-line.ts'
import { EXIT, Failure } from '../failure.ts'
import { table, visible } from '../table.ts'

export function addPlan(program: Command): void {
  const planning = withJson(program.command('plan'))
    .description('plan whether to fetch a cached prefix from a tier or to recompute it')
    .argument('<file>', 'the request as JSON; - reads standard input')
    .action(plan)
  withExample(
    planning,
    'switchyard plan tiers.json',
    `echo '{"expected_recompute_ms": 120, "tiers": [{"name": "host_ram", "lookup_ms": 1, "transfer_ms": 20,` +
      ` "decompression_ms": 5, "queue_delay_ms": 2}]}' | switchyard plan -`,
  )
}

async function plan(file: string, { json }: Printing): Promise<void> {
  const request = file === '-' ? await textOf(process.stdin) : contentsOf(file)
  const what = file === '-' ? 'Standard input' : file
  assertJson(request, what)
  const { body, text } = await service().postText<CachePlan>('/v2/byoc/hicache-plan', request)
  print(json ? text : forPeople(body))
}

function contentsOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new Failure(EXIT.usage, `${file} cannot be read: ${(error as Error).message}.`)
  }
}

/** Only its form: the text goes out as it was written, so that the service judges the very numbers in it. */
function assertJson(text: string, what: string): void {
  try {
    JSON.parse(text)
  } catch (error) {
    throw new Failure(EXIT.usage, `${what} is not JSON: ${visible((error as Error).message)}.`)
  }
}

function forPeople({ decision, expected_recompute_ms: recompute_ms, tiers }: CachePlan): string {
  const sentence =
    decision.decision === 'fetch'
      ? `Fetch from ${visible(decision.tier)}: saves ${decision.saved_ms} of ${recompute_ms} ms. Enable hicache.`
      : `Recompute: no tier beats ${recompute_ms} ms. Leave hicache off.`
  const rows = tiers.map(({ name, total_ms, saved_ms, beats_recompute }) => [
    name,
    String(total_ms),
    String(saved_ms),
    beats_recompute ? 'yes' : 'no',
  ])
  return `${sentence}\n\n${table(['TIER', 'TOTAL MS', 'SAVED MS', 'BEATS RECOMPUTE'], rows)}`
}
