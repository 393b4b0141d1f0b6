// A call for images, sound, rankings or judgements, as it was asked for; and the bytes that it has in spools until it
// is over.
import type { JsonBody } from '../core/json-bytes.ts'
import { Spool } from '../core/spool.ts'
import type { ReceivedForm } from '../media/form-hooks.ts'
import { writtenForm } from '../media/media-form.ts'
import { DEFAULT_MODERATION, type Fields, type MediaNeeds, mediaNeeds } from '../media/media-request.ts'
import type { MediaKind, StreamedBody } from '../providers/provider.ts'

interface Place {
  take(bytes: number): void
  giveBack(): void
}

export class AskedMedia {
  readonly needs: MediaNeeds
  readonly #form: ReceivedForm | undefined
  readonly #spools: Spool[] = []
  readonly #places: Place[] = []

  constructor(needs: MediaNeeds, form: ReceivedForm | undefined) {
    this.needs = needs
    this.#form = form
  }

  /** From here on, its end lets go of what it holds. */
  begin(): void {
    if (this.#form) this.#form.is_taken = true
  }

  /** As the target is sent it; undefined where the body is JSON. */
  formFor(model: string): StreamedBody | undefined {
    const form = this.#form
    if (!form) return undefined
    return writtenForm(form.parts, { model })
  }

  /** For what comes back. */
  spool(place: Place): Spool {
    const spool = new Spool(place)
    this.#places.push(place)
    this.#spools.push(spool)
    return spool
  }

  /** The call is over. */
  close(): void {
    this.#form?.letGo()
    for (const spool of this.#spools) spool.close()
    for (const place of this.#places) place.giveBack()
  }
}

export function mediaAsked(kind: MediaKind, body: JsonBody, fields: Fields, checkedModel: (model: unknown) => string) {
  const form = 'letGo' in body ? (body as ReceivedForm) : undefined
  const model = checkedModel(kind === 'moderations' ? (fields.model ?? DEFAULT_MODERATION) : fields.model)
  const files = (form?.parts ?? []).flatMap((part) =>
    part.kind === 'file' ? [{ field: part.name, bytes: part.content.bytes, head: part.head }] : [],
  )
  const needs = mediaNeeds(kind, fields, files, form?.text_bytes ?? body.bytes.length)
  const { output_limit, choices, input_bound, input_estimate } = needs
  return {
    kind,
    body: body.bytes,
    json: fields,
    model,
    // Sound comes as it is spoken, whether or not that is asked for.
    stream: kind === 'speech' || (fields.stream === true && MAY_STREAM.includes(kind)),
    wants_usage: false,
    output_limit,
    choices,
    long_cache: false,
    input_bound,
    input_estimate,
    media: new AskedMedia(needs, form),
  }
}

const MAY_STREAM: readonly MediaKind[] = ['images', 'image_edits', 'transcriptions']
