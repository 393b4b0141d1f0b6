// `torture upstreams`: hostile answers by the hundred thousand through the code that reads answers. No crash, no count or
// charge that cannot be, and no case that takes out of proportion long.
import fc from 'fast-check'
import type { TokenCounts } from '../../src/answers/token-counts.ts'
import { hostileAnswers } from './hostile-answers.ts'
import { judged, READERS, type Readers, readHostile } from './hostile-reading.ts'
import type { Report } from './report.ts'

export const UPSTREAM_CHECKS = {
  crash: 'an exception that nobody expects',
  count: 'a count or a charge that cannot be',
  time: 'a hundred answers that took two seconds of CPU',
} as const

export interface UpstreamsOptions {
  answers: number
  seed: number
  plant?: UpstreamPlant | undefined
  /** It ends with the batch in which this check has found something. */
  until?: keyof typeof UPSTREAM_CHECKS | undefined
  note?(text: string): void
}

const CASES_TOLD_MAX = 5
const BATCH = 100
const BATCH_CPU_MAX_MS = 2_000 // a bound for the busiest machine; what was measured is told

export async function upstreams({ answers, seed, plant, until, note }: UpstreamsOptions): Promise<Report> {
  const readers = plant ? PLANTS[plant] : READERS
  const started_ms = performance.now()
  const found: Record<keyof typeof UPSTREAM_CHECKS, string[]> = { crash: [], count: [], time: [] }
  const counts: Record<string, number> = {}
  let longest_ms = 0
  let done = 0
  const tell = (check: keyof typeof found, text: string) => {
    if (found[check].length < CASES_TOLD_MAX) found[check].push(text)
  }
  for (const batch of batchesOf(answers, seed)) {
    let cpu = process.cpuUsage() // what it cost to make them does not count
    for (const answer of batch) {
      const began_ms = performance.now()
      const told = () => `${answer.route}${answer.stream ? ' streamed' : ''} ${answer.status}: ${shown(answer.body)}`
      try {
        const outcome = await readHostile(answer, readers)
        const name = outcome.kind === 'failed' ? `failed: ${outcome.failure}` : outcome.kind
        counts[name] = (counts[name] ?? 0) + 1
        const wrong = judged(answer, outcome)
        if (wrong) tell('count', `${wrong}; ${told()}`)
      } catch (error) {
        tell('crash', `${(error as Error).stack?.split('\n').slice(0, 3).join(' ')}; ${told()}`)
      }
      longest_ms = Math.max(longest_ms, performance.now() - began_ms)
      if (++done % BATCH === 0) {
        const { user, system } = process.cpuUsage(cpu)
        const batch_ms = (user + system) / 1_000
        if (batch_ms > BATCH_CPU_MAX_MS) tell('time', `${batch_ms.toFixed(0)} ms, the last of them ${told()}`)
        cpu = process.cpuUsage()
        if (until && found[until].length > 0) break
      }
    }
    note?.(`${done} of ${answers}`)
    if (until && found[until].length > 0) break
    await new Promise((turn) => setImmediate(turn))
  }
  const order = Object.keys(counts).sort()
  return {
    title: `torture upstreams${plant ? `, planted ${plant}` : ''}`,
    seed,
    figures: {
      answers: done,
      ...Object.fromEntries(order.map((name) => [name, counts[name] as number])),
      'longest, ms': Number(longest_ms.toFixed(1)),
    },
    checks: (Object.keys(found) as (keyof typeof found)[]).map((name) => ({
      name: UPSTREAM_CHECKS[name],
      found: found[name],
    })),
    took_ms: performance.now() - started_ms,
  }
}

const GENERATED_AT_ONCE = 1_000

function* batchesOf(answers: number, seed: number) {
  for (let n = 0; n < answers; n += GENERATED_AT_ONCE)
    yield fc.sample(hostileAnswers, { numRuns: Math.min(GENERATED_AT_ONCE, answers - n), seed: seed + n })
}

const shown = (body: Buffer) => JSON.stringify(body.toString('latin1', 0, 600))

export type UpstreamPlant = keyof typeof PLANTS

type Usage = { prompt_tokens?: number; completion_tokens?: number } | null | undefined

const taken = (usage: Usage): TokenCounts => ({
  ...{ input: usage?.prompt_tokens ?? 0, cached: 0, written: 0, reasoning: 0, estimated: false },
  output: usage?.completion_tokens ?? 0,
})

/** Readers with a known bug. */
export const PLANTS = {
  /** Whatever the usage says is believed: −5, 2^60, half a token. */
  'any-count': {
    ...READERS,
    tokensOf: async (asked, body) => {
      const told = await READERS.tokensOf(asked, body)
      const { usage } = JSON.parse(body.toString()) as { usage?: Usage }
      return told.estimated && usage ? taken(usage) : told
    },
    streamedTokens: (asked, frames) => {
      const usage = frames.usage() as Usage
      return usage ? taken(usage) : READERS.streamedTokens(asked, frames)
    },
  },
  /** Something in the usage is taken for granted. */
  'careless-reader': {
    ...READERS,
    streamedTokens: (asked, frames) => {
      const usage = frames.usage() as { prompt_tokens_details: { cached_tokens: number } } | undefined
      if (usage) usage.prompt_tokens_details.cached_tokens.toFixed()
      return READERS.streamedTokens(asked, frames)
    },
  },
  /** All that came before is looked at again, for every few parts. */
  'long-walk': {
    ...READERS,
    tokensOf: (asked, body) => {
      let brackets = 0
      for (let at = body.indexOf('['); at !== -1; at = body.indexOf('[', at + 1))
        if (++brackets % 32 === 0 && body.includes('what is nowhere in it')) break
      return READERS.tokensOf(asked, body)
    },
  },
} as const satisfies Record<string, Readers>
