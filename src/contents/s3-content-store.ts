// Contents in S3-compatible storage, an object each. Requests are signed by aws4fetch and sent by Node's own fetch.
import { setTimeout as sleep } from 'node:timers/promises'
import { AwsClient } from 'aws4fetch'
import { SECOND_MS } from '../core/clock.ts'
import { Refusal } from '../core/refusal.ts'
import type { Contents, SealedContent } from './content.ts'
import type { S3Settings } from './s3-settings.ts'

const WRITE_WITHIN_MS = 60 * SECOND_MS
const ASK_WITHIN_MS = 15 * SECOND_MS
/** For so long at most nothing comes of what is read. */
const SILENT_MS = 60 * SECOND_MS
const TRIES = 3
const PAUSE_MS = 200

export function s3Contents(settings: S3Settings): Contents {
  const { endpoint, bucket, region, prefix, access_key_id, secret_access_key } = settings
  const signer = new AwsClient({
    accessKeyId: access_key_id,
    secretAccessKey: secret_access_key,
    service: 's3',
    region,
  })
  const addressOf = (content_id: string) => `${endpoint.replace(/\/+$/, '')}/${bucket}/${prefix}${content_id}`

  /** What is wrong for the moment is tried again; every request here may be repeated. */
  async function ask(content_id: string, { method, within_ms, content }: Asking): Promise<Response> {
    for (let tries = 1; ; tries++) {
      const head = new AbortController() // what comes behind it may be read slowly
      const timer = setTimeout(() => head.abort(silent()), within_ms)
      try {
        const headers = content ? { 'content-length': String(content.bytes) } : {}
        const signed = await signer.sign(addressOf(content_id), { method, headers, aws: { allHeaders: true } })
        const answer = await fetch(signed.url, {
          method,
          headers: signed.headers,
          redirect: 'error',
          signal: head.signal,
          ...(content && { body: streamOf(content), duplex: 'half' as const }),
        })
        if (answer.status < 500 && answer.status !== 429) return answer
        await answer.body?.cancel()
        throw new Error(`the object storage answered ${answer.status}`)
      } catch (error) {
        if (tries === TRIES) throw away(error)
        await sleep(PAUSE_MS * 2 ** tries, undefined, { ref: false })
      } finally {
        clearTimeout(timer)
      }
    }
  }

  return {
    async write(content_id, content) {
      const answer = await ask(content_id, { method: 'PUT', within_ms: WRITE_WITHIN_MS, content })
      await answer.body?.cancel()
      if (!answer.ok) throw away(new Error(`the object storage refused to write: ${answer.status}`))
    },

    async *read(content_id) {
      const answer = await ask(content_id, { method: 'GET', within_ms: WRITE_WITHIN_MS })
      if (!answer.ok || !answer.body) {
        await answer.body?.cancel()
        throw away(new Error(`the object storage has no ${content_id}: ${answer.status}`))
      }
      const body = answer.body.getReader()
      try {
        for (;;) {
          const { done, value } = await within(SILENT_MS, body.read())
          if (done) return
          yield value as Uint8Array
        }
      } catch (error) {
        throw away(error)
      } finally {
        await body.cancel().catch(() => {})
      }
    },

    async erase(content_id) {
      const answer = await ask(content_id, { method: 'DELETE', within_ms: ASK_WITHIN_MS })
      await answer.body?.cancel()
      if (!answer.ok && answer.status !== 404)
        throw away(new Error(`the object storage refused to erase: ${answer.status}`))
    },
  }
}

interface Asking {
  method: 'PUT' | 'GET' | 'DELETE'
  within_ms: number
  content?: SealedContent
}

/** Sealed as it goes: no more than a part is in memory beside what was uploaded. */
function streamOf(content: SealedContent): ReadableStream<Uint8Array> {
  const parts = content.parts()[Symbol.iterator]()
  return new ReadableStream({
    pull(controller) {
      const next = parts.next()
      if (next.done) controller.close()
      else controller.enqueue(next.value)
    },
  })
}

async function within<T>(most_ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(silent()), most_ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

const silent = () => new Error('the object storage is silent')

const away = (cause: unknown) =>
  new Refusal('unavailable', 'The storage of contents is not available right now. Retry shortly.', {
    cause,
    headers: { 'retry-after': '1' },
  })
