// An upstream's answer told in another protocol than it came in: event by event, or whole.
import { BeyondBudget, BUDGETS, jsonWithin } from '../core/foreign.ts'
import { jsonBytes } from '../core/json-writing.ts'
import { type ProviderAnswer, UpstreamError } from './provider.ts'

/** Takes the bytes of a stream as they come, and gives those of another. */
export interface RetoldEvents {
  push(part: Buffer): Buffer
  /** What a large event brought, or a large end tells, which is read and written in steps. */
  late(): Promise<Buffer> | undefined
  end(): Buffer
}

export const retoldStream = (answer: ProviderAnswer, events: RetoldEvents): ProviderAnswer => ({
  ...answer,
  async each(take) {
    await answer.each((part) => {
      const now = events.push(part)
      const late = events.late()
      return late ? late.then((more) => take(Buffer.concat([now, more]))) : take(now)
    })
    await take(events.end())
    const late = events.late()
    if (late) await take(await late)
  },
})

/** A completion as `translate` tells it. */
export function retoldCompletion(answer: ProviderAnswer, translate: (completion: unknown) => unknown): ProviderAnswer {
  return retoldJson(answer, async (taking) => {
    const completion = await answer.whole(taking)
    try {
      return await jsonBytes(await translate(await jsonWithin(BUDGETS.answer, completion)), completion.length)
    } catch (error) {
      // A 200 that is no completion, or more of one than is read.
      throw new UpstreamError(error instanceof BeyondBudget ? 'too_many_parts' : 'reset', error)
    }
  })
}

/** An answer whose body is what `whole` makes of it. */
export const retoldJson = (answer: ProviderAnswer, whole: ProviderAnswer['whole']): ProviderAnswer => ({
  ...answer,
  content_type: 'application/json',
  whole,
  each: async (take) => take(await whole()),
})
