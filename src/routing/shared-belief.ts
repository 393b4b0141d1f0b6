// What replicas tell each other of where prompts are: what each has sent since it last spoke, and what is on its way.
// In the background and in one round trip; no call waits for it, and while the store is away each goes by its own.
import type { InFlight, Placement, SentElsewhere } from './placement.ts'

/** Tells the others, and hears what they said since. Undefined where nobody can be asked now. */
export interface Exchange {
  exchange(said: string, since: string): Promise<{ heard: readonly string[]; last: string } | undefined>
}

const EVERY_MS = 100
const MESSAGE_MAX_BYTES = 64 * 1024
const VERSION = 1
/** In beats: how often all that is on its way is told again, and after how long a silent replica is gone. */
const ALL_EVERY = 30
const GONE_AFTER = 100

interface Message {
  v: number
  from: string
  /** All that is on its way is told: of what is not, nothing is on its way any more. */
  all?: boolean
  /** Project, target, model, hashes, tokens up to each. */
  sent: [string, string, string, string[], number[]][]
  /** Project, target, model, tokens on their way. */
  in_flight: [string, string, string, number][]
}

export function sharedBelief(places: Placement, counters: Exchange, process_id: string) {
  let last = ''
  let underway: Promise<void> | undefined
  let beats = 0
  const heard_at = new Map<string, number>()

  async function speak(): Promise<void> {
    const all = ++beats % ALL_EVERY === 0
    const { sent, in_flight } = places.takeNews(all)
    const is_news = all || sent.length > 0 || in_flight.length > 0
    const said = is_news ? written({ v: VERSION, from: process_id, all }, sent, in_flight) : ''
    const answer = await counters.exchange(said, last)
    if (!answer) return
    last = answer.last
    for (const text of answer.heard) hear(text)
    if (all) forgetGone()
  }

  /** What was on its way from a replica that is gone is nobody's any more. */
  function forgetGone(): void {
    for (const [from, at] of heard_at) if (beats - at > GONE_AFTER) heard_at.delete(from)
    places.keepOnly([...heard_at.keys()])
  }

  function hear(text: string): void {
    const message = read(text)
    if (!message || message.from === process_id) return
    for (const [project_id, target_id, model, hashes, tokens] of message.sent)
      places.heardSent({
        project_id,
        target_id,
        model,
        chain: hashes.map((hash, at) => ({ hash, tokens: tokens[at] ?? 0 })),
      })
    heard_at.set(message.from, beats)
    places.heardInFlight(message.from, message.in_flight, message.all)
  }

  /** One at a time: a store that is slow is not asked again meanwhile. */
  function beat(): void {
    underway ??= speak()
      .catch(() => {})
      .finally(() => {
        underway = undefined
      })
  }

  places.shareNews()
  const timer = setInterval(beat, EVERY_MS).unref()
  return {
    beat: speak,
    async stop(): Promise<void> {
      clearInterval(timer)
      await underway
    },
  }
}

/** Something that may be told, and how long about; it is written only where that may fit. */
interface Item {
  kind: 'sent' | 'in_flight'
  bytes: number
  told(): unknown
}

/** What fits, of each project what is on its way and then the latest that was sent: the rest is not known elsewhere. */
function written(head: object, sent: readonly SentElsewhere[], in_flight: readonly InFlight[]): string {
  const by_project = new Map<string, Item[]>()
  const add = (project_id: string, item: Item) => {
    const items = by_project.get(project_id)
    if (items) items.push(item)
    else by_project.set(project_id, [item])
  }
  // Where not all of it fits, the places that are known to be busy are those that are.
  const busiest_first = in_flight.toSorted((one, other) => other[3] - one[3])
  for (const one of busiest_first) add(one[0], { kind: 'in_flight', bytes: FEWEST_BYTES, told: () => one })
  for (const { project_id, target_id, model, chain } of sent.toReversed()) {
    const links = () => [chain.map(({ hash }) => hash), chain.map(({ tokens }) => tokens)]
    const told = () => [project_id, target_id, model, ...links()]
    add(project_id, { kind: 'sent', bytes: FEWEST_BYTES + chain.length * LINK_BYTES, told })
  }
  const opening = JSON.stringify(head).slice(0, -1)
  const { sent: prompts, in_flight: counts } = sharedOut(by_project, MESSAGE_MAX_BYTES - opening.length - FEWEST_BYTES)
  return `${opening},"sent":[${prompts.toReversed().join()}],"in_flight":[${counts.join()}]}`
}

const FEWEST_BYTES = 32
const LINK_BYTES = 30

/** R78: who tells little has all of it told; the others share what is left. */
function sharedOut(by_project: ReadonlyMap<string, Item[]>, bytes: number): Record<Item['kind'], string[]> {
  const texts: Record<Item['kind'], string[]> = { sent: [], in_flight: [] }
  const projects = [...by_project.values()].map((items) => ({
    items,
    size: items.reduce((sum, one) => sum + one.bytes, 0),
  }))
  projects.sort((one, other) => one.size - other.size)
  let left = bytes
  for (const [at, { items }] of projects.entries()) {
    let share = left / (projects.length - at)
    for (const { kind, told, bytes: at_least } of items) {
      if (at_least > share) continue
      const text = JSON.stringify(told())
      const taken = Buffer.byteLength(text) + 1
      if (taken > share) continue
      texts[kind].push(text)
      share -= taken
      left -= taken
    }
  }
  return texts
}

/** A replica of another version may say what is not understood. */
function read(text: string): Message | undefined {
  try {
    const message: Message = JSON.parse(text)
    return message.v === VERSION && Array.isArray(message.sent) && Array.isArray(message.in_flight)
      ? message
      : undefined
  } catch {
    return undefined
  }
}
