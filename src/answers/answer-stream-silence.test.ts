// R82: a stream is not silent for long towards its client. Clock and timers are in the test's hand.
import { expect, test } from 'vitest'
import { heldTimers } from '../../test/support/admission-scene.ts'
import { heldClock } from '../../test/support/clock.ts'
import { type ProviderAnswer, UpstreamError } from '../providers/provider.ts'
import { type OpenedStream, openStream } from './answer-stream.ts'
import { type SseFrames, sseFrames } from './sse-frames.ts'
import { COMMENT, PING, USUAL_PATIENCE } from './stream-patience.ts'

const OURS = String(COMMENT)
const ROLE = 'data: {"choices":[{"delta":{"role":"assistant"}}]}\n\n'
const CONTENT = 'data: {"choices":[{"delta":{"content":"four"}}]}\n\n'
const ERROR = 'data: {"error":{"message":"no"}}\n\n'
const DONE = 'data: [DONE]\n\n'

/** Lets every promise that can settle do so. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

function scene(kind: 'chat' | 'messages' = 'chat') {
  const timers = heldTimers(heldClock())
  let take: (part: Buffer) => void | Promise<void> = () => {}
  let ended: { resolve(): void; reject(error: unknown): void } | undefined
  const answer: ProviderAnswer = {
    status: 200,
    content_type: 'text/event-stream',
    retry_after_s: undefined,
    each(taker) {
      take = taker
      return new Promise((resolve, reject) => {
        ended = { resolve, reject }
      })
    },
    whole: () => Promise.reject(new Error('nobody asks for the whole of a stream')),
    cancel() {},
  }
  const frames: SseFrames = sseFrames({ kind, drop_usage: true })
  const heard: string[] = []
  const states = { opened: false, content: 0, nothing: 0, failure: undefined as unknown, last: undefined as unknown }
  let stream: OpenedStream | undefined
  const opening = openStream(answer, frames, { patience: USUAL_PATIENCE, timers }).then(
    (opened) => {
      stream = opened
      states.opened = true
      opened.watch({ onContent: () => void states.content++, onNothing: () => void states.nothing++ })
    },
    (error) => {
      states.failure = error
    },
  )
  return {
    timers,
    heard,
    states,
    opening,
    async says(text: string) {
      try {
        const taken = take(Buffer.from(text))
        taken?.catch((error) => ended?.reject(error))
      } catch (error) {
        ended?.reject(error)
      }
      await settled()
    },
    async breaks() {
      ended?.reject(new UpstreamError('reset'))
      await settled()
    },
    async pass(ms: number) {
      timers.advance(ms)
      await settled()
    },
    forward(write = (part: Buffer): void | Promise<void> => void heard.push(String(part))) {
      stream?.forward(write).then(
        (last) => {
          states.last = String(last)
        },
        (error) => {
          states.failure = error
        },
      )
      return settled()
    },
    hasTold: () => stream?.hasToldFailure(),
  }
}

test('R82 headers leave with the first content, whenever it comes', async () => {
  const { says, states, forward, heard, timers } = scene()
  await says(ROLE)
  expect(states.opened).toBe(false)
  await says(CONTENT)
  expect([states.opened, states.content]).toEqual([true, 1])
  await forward()
  await says(DONE)
  expect([heard, states.last]).toEqual([[ROLE, CONTENT], DONE])
  expect(timers.pending()).toBe(0)
})

test.each([
  ['a comment', ': keep-alive\n\n', ': keep-alive\n\n'],
  ['a role', ROLE, ROLE],
  ['half an event', ROLE.slice(0, 9), OURS],
  ['what has no translation', '', OURS],
])('R82 headers leave a second after the first byte, where that was %s', async (_what, first, told) => {
  const { says, pass, states, forward, heard, timers } = scene()
  await pass(5_000)
  await says(first)
  await pass(999)
  expect(states.opened).toBe(false)
  await pass(1)
  expect([states.opened, states.content]).toEqual([true, 0])
  await forward()
  expect(heard).toEqual([told])
  await says(first === ROLE.slice(0, 9) ? ROLE.slice(9) + CONTENT : CONTENT)
  expect(states.content).toBe(1)
  expect(timers.pending()).toBe(0)
})

test('R82 headers leave 15 s after the 200, where nothing comes at all', async () => {
  const { pass, states, forward, heard } = scene()
  await pass(14_999)
  expect(states.opened).toBe(false)
  await pass(1)
  expect(states.opened).toBe(true)
  await forward()
  expect(heard).toEqual([OURS])
})

test('R82 then a comment whenever nothing was sent for 10 s, until content comes', async () => {
  const { says, pass, forward, heard, timers, states } = scene()
  await says(ROLE)
  await pass(1_000)
  await forward()
  await pass(9_999)
  expect(heard).toEqual([ROLE])
  await pass(1)
  await pass(10_000)
  expect(heard).toEqual([ROLE, OURS, OURS])
  await pass(6_000)
  await says(': theirs\n\n')
  await pass(9_999)
  expect(heard).toEqual([ROLE, OURS, OURS, ': theirs\n\n'])
  await pass(1)
  await says(CONTENT)
  await pass(100_000)
  expect(heard).toEqual([ROLE, OURS, OURS, ': theirs\n\n', OURS, CONTENT])
  expect([timers.pending(), states.content]).toEqual([0, 1])
})

test('R82 no comment is put into the middle of an event', async () => {
  const { says, pass, forward, heard } = scene()
  await says(ROLE)
  await pass(1_000)
  await forward()
  await says(CONTENT.slice(0, 20))
  await pass(10_000)
  await says(CONTENT.slice(20))
  expect(heard).toEqual([ROLE, OURS, CONTENT])
})

test('R82 R47 a failure before the headers leave is for another target, and leaves no timer behind', async () => {
  for (const end of ['breaks', 'tells'] as const) {
    const { says, pass, breaks, states, timers } = scene()
    await says(ROLE)
    await pass(999)
    await (end === 'breaks' ? breaks() : says(ERROR))
    expect(states.failure).toBeInstanceOf(UpstreamError)
    expect([states.opened, timers.pending()]).toEqual([false, 0])
  }
})

test('R82 R47 a failure after they left is the client’s to hear, once, and counts as none with content', async () => {
  for (const [end, told] of [
    ['breaks', false],
    ['tells', true],
  ] as const) {
    const { says, pass, breaks, states, timers, forward, heard, hasTold } = scene()
    await says(ROLE)
    await pass(1_000)
    await forward()
    await (end === 'breaks' ? breaks() : says(ERROR))
    expect(states.failure).toBeInstanceOf(UpstreamError)
    expect([states.content, states.nothing, timers.pending(), hasTold()]).toEqual([0, 1, 0, told])
    expect(heard).toEqual(told ? [ROLE, ERROR] : [ROLE])
  }
})

test('R82 what comes between the opening and whoever takes it is neither lost nor swallowed', async () => {
  const { says, pass, states, forward, heard, hasTold } = scene()
  await says(ROLE)
  await pass(1_000)
  await says(CONTENT)
  await forward()
  expect(heard).toEqual([ROLE, CONTENT])
  await says(DONE)
  expect(states.last).toBe(DONE)

  const other = scene()
  await other.says(ROLE)
  await other.pass(1_000)
  await other.says(ERROR)
  await other.forward()
  expect([other.hasTold(), hasTold()]).toEqual([false, false]) // so that the client is told of it
  expect(other.states.failure).toBeInstanceOf(UpstreamError)
})

test('R82 an answer that ends without content is an answer', async () => {
  const { says, states, forward, pass, timers } = scene()
  await says(ROLE)
  await pass(1_000)
  await forward()
  await says(DONE)
  expect([states.content, states.nothing, states.last, timers.pending()]).toEqual([1, 0, DONE, 0])
})

test('R82 comments do not pile up before a client that does not read', async () => {
  const { says, pass, forward, heard } = scene()
  await says(ROLE)
  await pass(1_000)
  await forward((part) => {
    heard.push(String(part))
    return heard.length > 1 ? new Promise(() => {}) : undefined
  })
  await pass(600_000)
  expect(heard).toEqual([ROLE, OURS])
})

const START = 'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":1}}}\n\n'
const BLOCK =
  'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"thinking"}}\n\n'
const STOP = 'event: message_stop\ndata: {"type":"message_stop"}\n\n'
const OWN_PING = String(PING)

test('R81, R82 Messages: a block is content, before it there are pings in the place of comments', async () => {
  const { says, pass, forward, heard, states } = scene('messages')
  await says(START)
  expect(states.opened).toBe(false)
  await pass(1_000)
  expect([states.opened, states.content]).toEqual([true, 0])
  await forward()
  await pass(10_000)
  expect(heard).toEqual([START, OWN_PING])
  await says(BLOCK)
  expect(states.content).toBe(1)
})

test('R81 Messages: thinking may be silent for minutes, and its client is told that it lives', async () => {
  const { says, pass, forward, heard, states, timers } = scene('messages')
  await says(START + BLOCK)
  await forward()
  await pass(10_000)
  expect(heard).toEqual([START + BLOCK, OWN_PING])
  await says(BLOCK)
  await pass(10_000) // within these, something was said
  expect(heard).toEqual([START + BLOCK, OWN_PING, BLOCK])
  await pass(10_000)
  expect(heard.at(-1)).toBe(OWN_PING)
  await says(STOP)
  expect([heard.length, states.last]).toEqual([4, STOP])
  expect(timers.pending()).toBe(0)
})

test.each<[string, () => void | Promise<void>]>([
  [
    'throws',
    () => {
      throw new UpstreamError('too_large')
    },
  ],
  ['rejects', () => Promise.reject(new UpstreamError('too_large'))],
])('R77 a sign of life whose sending %s ends its stream, and not the process; no other follows', async (_how, fail) => {
  const one = scene()
  await one.says(ROLE)
  await one.pass(USUAL_PATIENCE.headers_after_ms)
  let asked = 0
  one.forward((part) => {
    if (String(part) !== OURS) return undefined
    asked++
    return fail()
  })
  await settled()
  await one.pass(USUAL_PATIENCE.comment_every_ms)
  expect(one.states.failure).toMatchObject({ failure: 'too_large' })
  await one.pass(3 * USUAL_PATIENCE.comment_every_ms)
  expect(asked).toBe(1)
})
