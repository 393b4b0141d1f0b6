// What replicas tell each other of where prompts are: what each has sent since it last spoke, and what is on its way.
// In the background and in one round trip; no call waits for it, and while the store is away each goes by its own.
import type { Placement, SentElsewhere } from './placement.ts'

/** Tells the others, and hears what they said since. Undefined where nobody can be asked now. */
export interface Exchange {
  exchange(said: string, since: string): Promise<{ heard: readonly string[]; last: string } | undefined>
}

const EVERY_MS = 100
const MESSAGE_MAX_BYTES = 256 * 1024
const VERSION = 1
/** In beats: how often all that is on its way is told again, and after how long a silent replica is gone. */
const ALL_EVERY = 30
const GONE_AFTER = 100

interface Message {
  v: number
  from: string
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
    const { sent, in_flight } = places.takeNews(++beats % ALL_EVERY === 0)
    const said = sent.length === 0 && in_flight.length === 0 ? '' : written(process_id, sent, in_flight)
    const answer = await counters.exchange(said, last)
    if (!answer) return
    last = answer.last
    for (const text of answer.heard) hear(text)
    if (beats % ALL_EVERY === 0) forgetGone()
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
    places.heardInFlight(message.from, message.in_flight)
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

/** The latest that fit: what is left out is only not known elsewhere. */
function written(from: string, sent: readonly SentElsewhere[], in_flight: Message['in_flight']): string {
  const message: Message = { v: VERSION, from, sent: [], in_flight }
  let bytes = 0
  for (const { project_id, target_id, model, chain } of sent.toReversed()) {
    const hashes = chain.map(({ hash }) => hash)
    bytes += hashes.length * 32 + 100
    if (bytes > MESSAGE_MAX_BYTES) break
    message.sent.unshift([project_id, target_id, model, hashes, chain.map(({ tokens }) => tokens)])
  }
  return JSON.stringify(message)
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
