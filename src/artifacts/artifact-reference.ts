// References to artifacts inside strict /v1 JSON: `file_id: "art_…"` where the protocol has a `file_id`, and nowhere
// else. What goes out in their place is what the protocol says the same with.

import { textOf } from '../core/json-bytes.ts'
import { type ByteSpan, type Change, elementsOf, fieldIn } from '../core/json-elements.ts'
import { spanOf } from '../core/json-splice.ts'
import { Refusal } from '../core/refusal.ts'
import { type Artifact, isArtifactId } from './artifact.ts'

export type Surface = 'chat' | 'responses'
type Json = Readonly<Record<string, unknown>>

/** One part of a prompt that names an artifact. */
export interface Reference {
  artifact_id: string
  /** As it would be written in code, for whoever is told of it. */
  where: string
  item: number
  field: 'content' | 'output'
  part: number
  /** The part as it came. */
  json: Json
}

const MARK = Buffer.from('art_')

/** Whether it is worth a look: a search over the bytes, and nothing for those who have no artifacts. */
export const mayRefer = (bytes: Buffer) => bytes.includes(MARK)

const LISTS = { chat: 'messages', responses: 'input' } as const

export const listName = (surface: Surface) => LISTS[surface]

export function referencesIn(surface: Surface, items: unknown, name: string = LISTS[surface]): Reference[] {
  if (!Array.isArray(items)) return []
  const found: Reference[] = []
  for (const [item, one] of (items as (Json | null)[]).entries())
    for (const field of surface === 'chat' ? (['content'] as const) : (['content', 'output'] as const)) {
      const parts = one?.[field]
      if (!Array.isArray(parts)) continue
      for (const [part, json] of (parts as (Json | null)[]).entries()) {
        const named = json && namedBy(surface, json)
        if (named)
          found.push({
            artifact_id: named.id,
            where: `${name}[${item}].${field}[${part}].${named.at}`,
            item,
            field,
            part,
            json,
          })
      }
    }
  return found
}

function namedBy(surface: Surface, part: Json): { id: string; at: string } | undefined {
  if (surface === 'chat') {
    const id = part.type === 'file' && (part.file as Json | null | undefined)?.file_id
    return isArtifactId(id) ? { id, at: 'file.file_id' } : undefined
  }
  if (part.type !== 'input_file' && part.type !== 'input_image') return undefined
  return isArtifactId(part.file_id) ? { id: part.file_id, at: 'file_id' } : undefined
}

/** What stands in the place of the part: a text is a text, an image an image, a document a file with its data. */
export function inlined(surface: Surface, { json, where }: Reference, artifact: Artifact, content: Buffer): Json {
  const { kind } = artifact
  if (kind === 'tools') throw wrong(where, 'not name tools: put them into a bundle')
  if (json.type === 'input_image' && kind !== 'image') throw wrong(where, 'name an image')
  return partOf(surface, artifact, content, json)
}

/** `beside` is what the client said of it that holds as well: detail, cache_control. */
export function partOf(surface: Surface, artifact: Artifact, content: Buffer, beside: Json = {}): Json {
  const { kind, media_type, name, id } = artifact
  const isChat = surface === 'chat'
  const kept = pick(beside, ['cache_control', 'detail'])
  if (kind === 'text' || kind === 'tools')
    return { type: isChat ? 'text' : 'input_text', text: textOf(content), ...pick(beside, ['cache_control']) }
  const data = `data:${media_type};base64,${content.toString('base64')}`
  if (kind === 'image') {
    if (!isChat) return { type: 'input_image', image_url: data, ...kept }
    const { detail } = (beside.file ?? {}) as Json
    return { type: 'image_url', image_url: { url: data, ...(detail !== undefined && { detail }) }, ...kept }
  }
  const file = { filename: name ?? `${id}${media_type === 'application/pdf' ? '.pdf' : ''}`, file_data: data }
  return isChat ? { type: 'file', file, ...pick(beside, ['cache_control']) } : { type: 'input_file', ...file, ...kept }
}

const pick = (json: Json, names: readonly string[]) =>
  Object.fromEntries(names.filter((name) => json[name] !== undefined).map((name) => [name, json[name]]))

/** So many bytes of JSON; without its content at least so many, where it is a text. */
export function inlineBytes({ kind, bytes }: Artifact, content?: Buffer): number {
  if (kind === 'image' || kind === 'document') return Math.ceil(bytes / 3) * 4
  return content ? escapedBytes(content) : bytes
}

const [QUOTE, BACKSLASH, SPACE] = [0x22, 0x5c, 0x20]
/** \b, \t, \n, \f and \r have escapes of two bytes, other control characters of six. */
const IN_SHORT = new Set([0x08, 0x09, 0x0a, 0x0c, 0x0d])
const MORE_BYTES = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte < SPACE) return IN_SHORT.has(byte) ? 1 : 5
  return byte === QUOTE || byte === BACKSLASH ? 1 : 0
})

export function escapedBytes(text: Buffer): number {
  let bytes = text.length
  for (let at = 0; at < text.length; at++) bytes += MORE_BYTES[text[at] as number] as number
  return bytes
}

/** A part with what is to stand in its place, as bytes and as a value. */
export interface Inlined extends Reference {
  bytes: Buffer
  value: Json
}

/** Where each of them lies in the bytes. One pass, however many there are. */
export function changesFor(bytes: Buffer, surface: Surface, parts: readonly Inlined[]): Change[] {
  const list = spanOf(bytes, LISTS[surface])
  const changes: Change[] = []
  if (!list) return changes
  const by_item = grouped(parts)
  let item = 0
  for (const span of elementsOf(bytes, list.start)) {
    for (const [field, instead] of by_item.get(item++) ?? [])
      addChanges(changes, bytes, fieldIn(bytes, span, field), instead)
  }
  return changes
}

function addChanges(changes: Change[], bytes: Buffer, list: ByteSpan | undefined, instead: ByPart): void {
  let part = 0
  if (list)
    for (const { start, end } of elementsOf(bytes, list.start)) {
      const inlined = instead.get(part++)
      if (inlined) changes.push({ start, end, bytes: inlined.bytes })
    }
}

/** The same in what the bytes were parsed to; nothing that came is changed. */
export function itemsWith(items: readonly unknown[], parts: readonly Inlined[]): unknown[] {
  const copy = [...items]
  for (const [item, fields] of grouped(parts)) {
    const one = { ...(copy[item] as Record<string, unknown>) }
    for (const [field, instead] of fields)
      one[field] = (one[field] as unknown[]).map((part, n) => instead.get(n)?.value ?? part)
    copy[item] = one
  }
  return copy
}

type ByPart = Map<number, Inlined>

function grouped(parts: readonly Inlined[]): Map<number, Map<Reference['field'], ByPart>> {
  const by_item = new Map<number, Map<Reference['field'], ByPart>>()
  for (const one of parts) {
    const by_field = by_item.get(one.item) ?? new Map<Reference['field'], ByPart>()
    by_item.set(one.item, by_field)
    const by_part = by_field.get(one.field) ?? new Map<number, Inlined>()
    by_field.set(one.field, by_part)
    by_part.set(one.part, one)
  }
  return by_item
}

const wrong = (where: string, must: string) => new Refusal('invalid_request', `'${where}' must ${must}.`)
