// A whole answer of images, sound or the like, read as it goes into its spool. What is small is parsed; of what is
// larger only the end is, and what was asked for is counted in passing (R77).
import { AT_ONCE_BYTES, BUDGETS, jsonWithin } from '../core/foreign.ts'
import { fieldFromEnd } from '../core/json-bytes.ts'
import { LastBytes } from '../core/last-bytes.ts'
import type { Spool } from '../core/spool.ts'
import type { MediaTold } from '../media/media-usage.ts'
import { type MediaKind, UpstreamError } from '../providers/provider.ts'

/** Where each kind of answer has what was asked for. */
const RESULT: Record<MediaKind, string> = {
  images: 'data',
  image_edits: 'data',
  speech: 'audio',
  transcriptions: 'text',
  moderations: 'results',
  rerank: 'results',
}

const ONE_IMAGE = /"(?:b64_json|url)"\s*:\s*"/g
const OVERLAP = 64

export class MediaAnswerReading {
  readonly #kind: MediaKind
  readonly #is_json: boolean
  #begins = ''
  readonly #tail = new LastBytes(AT_ONCE_BYTES)
  #images = 0
  #last = ''

  constructor(kind: MediaKind, content_type: string) {
    this.#kind = kind
    this.#is_json = kind !== 'transcriptions' || /\bjson\b/i.test(content_type)
  }

  push(part: Buffer): void {
    if (this.#begins.length < OVERLAP) this.#begins += part.toString('latin1', 0, OVERLAP)
    this.#tail.add(part)
    if (this.#kind === 'images' || this.#kind === 'image_edits') this.#count(part)
  }

  /** Rejects where it is none: some gateways put an error into a 200, some proxies a page of their own. */
  async told(spool: Spool): Promise<MediaTold> {
    if (spool.bytes === 0) throw noAnswer()
    if (!this.#is_json) return {}
    const whole = spool.inMemory()
    return whole ? this.#parsed(whole) : this.#fromItsEnd()
  }

  async #parsed(whole: Buffer): Promise<MediaTold> {
    const answer = (await parse(whole)) as Record<string, unknown> | null
    const result = typeof answer === 'object' ? answer?.[RESULT[this.#kind]] : undefined
    if (!answer || result === undefined || answer.error) throw noAnswer()
    const { usage, duration, meta } = answer
    return { usage, duration, meta, ...(Array.isArray(result) && { images: result.length }) }
  }

  #fromItsEnd(): MediaTold {
    if (!this.#begins.trimStart().startsWith('{')) throw noAnswer()
    const tail = this.#tail.bytes()
    const told = (name: string) => fieldFromEnd(tail, name, AT_ONCE_BYTES)
    return { usage: told('usage'), duration: told('duration'), meta: told('meta'), images: this.#images }
  }

  #count(part: Buffer): void {
    const text = this.#last + part.toString('latin1')
    let end = 0
    for (const found of text.matchAll(ONE_IMAGE)) {
      this.#images++
      end = found.index + found[0].length
    }
    this.#last = text.slice(Math.max(end, text.length - OVERLAP))
  }
}

async function parse(whole: Buffer): Promise<unknown> {
  try {
    return await jsonWithin(BUDGETS.answer, whole)
  } catch {
    throw noAnswer()
  }
}

const noAnswer = () => new UpstreamError('reset', new Error('a 200 that is no answer'))
