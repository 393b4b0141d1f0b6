// What a decision costs: standings, ranking and noting what was sent, for prompts of 20 links of which 15 are known.
// A call with one place to go decides nothing, and notes what it sent once it was answered.
import { hash } from 'node:crypto'
import type { Link } from '../src/reuse/prefix-chain.ts'
import { Sought } from '../src/routing/cache-belief.ts'
import { type PlaceFacts, placement } from '../src/routing/placement.ts'
import { ranked } from '../src/routing/prefix-score.ts'
import { median, quantile } from './figures.ts'
import { record } from './report.ts'
import { textTable } from './text-table.ts'

const LINKS = 20
const KNOWN = 15
const CALLS = 20_000
const ROUNDS = 5
const AT_ONCE = 10
/** Of the batches: those that were not interrupted by others on the machine. */
const QUIET_SHARE = 0.1
const CONVERSATIONS = 1_000

export function routingCost(): string {
  oneRound(2) // so that no row pays for the compiler
  const rows = [1, 2, 4, 8, 16].map((clusters) => {
    const rounds = Array.from({ length: ROUNDS }, () => oneRound(clusters))
    return { clusters, decide_us: median(rounds.map(([us]) => us)), note_us: median(rounds.map(([, us]) => us)) }
  })
  record('Cost of a routing decision', { links: LINKS, known: KNOWN, rows })
  return textTable(
    `What a routing decision costs, prompts of ${LINKS} links, median of ${ROUNDS} rounds`,
    ['clusters', 'decide µs', 'note µs', 'together µs'],
    rows.map(({ clusters, decide_us, note_us }) => [
      String(clusters),
      ...[decide_us, note_us, decide_us + note_us].map((us) => us.toFixed(1)),
    ]),
  )
}

function oneRound(clusters: number): [decide_us: number, note_us: number] {
  const places = placement()
  const facts: PlaceFacts[] = Array.from({ length: clusters }, (_, at) => ({
    ...{
      target_id: `cluster:byoc_${at}`,
      model: 'm',
      cache_tokens: 4_096_000,
      tokens_per_s: undefined,
      slots_used: 0.1,
    },
  }))
  const decided_us: number[] = []
  const noted_us: number[] = []
  for (let from = 0; from < CALLS; from += AT_ONCE) {
    const prompts = Array.from({ length: AT_ONCE }, (_, at) => promptAt(from + at))
    const chosen: number[] = []
    const started = performance.now()
    for (const prompt of prompts)
      chosen.push(
        clusters === 1
          ? 0
          : (ranked(places.standings(prompt, facts, from), 'prefer', prompt.sought.chain[0]?.hash ?? '')[0] as number),
      )
    const decided = performance.now()
    for (const [at, prompt] of prompts.entries())
      places.ended(places.sent(prompt, facts[chosen[at] as number] as PlaceFacts, from), from)
    noted_us.push(((performance.now() - decided) / AT_ONCE) * 1_000)
    decided_us.push(((decided - started) / AT_ONCE) * 1_000)
  }
  return [quantile(decided_us, QUIET_SHARE), quantile(noted_us, QUIET_SHARE)]
}

/** A turn of a conversation: what was said before is known, and some is new. */
const promptAt = (at: number) => ({ project_id: 'p', sought: new Sought(chainAt(at)), tokens: LINKS * 400 })

function chainAt(at: number): Link[] {
  const conversation = at % CONVERSATIONS
  const turn = Math.floor(at / CONVERSATIONS)
  return Array.from({ length: LINKS }, (_, link) => ({
    hash: hash('sha256', `${link < KNOWN ? '' : turn} ${conversation} ${link}`, 'base64url').slice(0, 22),
    tokens: (link + 1) * 400,
  }))
}
