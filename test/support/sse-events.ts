// Events of a chat stream, and a stream of them put through the frames in pieces.
import { type FrameOptions, sseFrames } from '../../src/answers/sse-frames.ts'

export const chat = { kind: 'chat', drop_usage: true } as const
export const chunk = (delta: unknown, more: object = {}) => ({
  id: 'chatcmpl-1',
  choices: [{ index: 0, delta, finish_reason: null }],
  ...more,
})
export const data = (value: unknown, newline = '\n') => `data: ${JSON.stringify(value)}${newline}${newline}`
export const USAGE = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 }
export const usageAlone = { id: 'chatcmpl-1', choices: [], usage: USAGE }
export const DONE = 'data: [DONE]\n\n'

/** All of a stream through the frames, cut where told. */
export function through(options: FrameOptions, stream: Buffer, cuts: readonly number[] = []) {
  const frames = sseFrames(options)
  const out: Buffer[] = []
  let from = 0
  for (const to of [...cuts, stream.length]) {
    const whole = frames.push(stream.subarray(from, to))
    if (whole) out.push(whole)
    from = to
  }
  const complete = frames.isComplete()
  const rest = frames.end()
  if (rest) out.push(rest)
  return {
    text: Buffer.concat(out).toString(),
    content: frames.hasContent(),
    complete,
    failed: frames.failed(),
    usage: frames.usage(),
    quarters: frames.quarterTokens(),
  }
}
