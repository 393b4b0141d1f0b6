// The victim of a hostile run, as a program: told for how long, it makes fifty calls a second through the managed
// provider, half of them streamed, and now and then a list and a report, and says what became of each.

import type { VictimCall } from './hostile-checker.ts'
import { hostileClient, type Told } from './hostile-client.ts'
import { steadily } from './replica-scene.ts'
import { readyHere, toldHere } from './told-here.ts'

const PER_SECOND = 50
const LOOKS_PER_SECOND = 1
const OUTPUT_TOKENS = 20
const ADDRESS = '127.0.0.3'

const client = hostileClient(toldHere<number[]>(), ADDRESS)

const chat = (stream: boolean) => ({
  method: 'POST',
  path: '/v1/chat/completions',
  body: {
    model: 'm',
    user: 'victim',
    max_tokens: OUTPUT_TOKENS,
    stream,
    messages: [{ role: 'user', content: 'Go on.' }],
  },
})
const ASKINGS = {
  whole: () => chat(false),
  stream: () => chat(true),
  list: () => ({ path: '/v2/api-keys' }),
  report: () => ({ path: '/v2/usage?group_by=model' }),
}

async function call(key: string, what: VictimCall['what'], calls: VictimCall[]): Promise<void> {
  const from_ms = performance.now()
  const told = await client.send({ ...ASKINGS[what](), key })
  const charged = told.headers['agent-charged-micros'] ?? told.trailers['agent-charged-micros']
  calls.push({
    what,
    took_ms: performance.now() - from_ms,
    failure: failureOf(what, told),
    trace_id: told.headers['agent-trace-id'] as string | undefined,
    charged_micros: charged === undefined ? undefined : Number(charged),
  })
}

function failureOf(what: VictimCall['what'], { status, body, broken }: Told): string | undefined {
  if (broken) return broken
  if (status !== 200) return `${status} ${body.slice(0, 160)}`
  return what === 'stream' && !body.endsWith('data: [DONE]\n\n') ? 'ends without [DONE]' : undefined
}

process.on('message', async ({ key, for_ms }: { key: string; for_ms: number }) => {
  const calls: VictimCall[] = []
  const generating = steadily(PER_SECOND, (n) => call(key, n % 2 === 0 ? 'whole' : 'stream', calls))
  const looking = steadily(LOOKS_PER_SECOND, (n) => call(key, n % 2 === 0 ? 'list' : 'report', calls))
  await new Promise((resolve) => setTimeout(resolve, for_ms))
  await Promise.all([generating.stop(), looking.stop()])
  process.send?.({ calls })
})

readyHere({})
