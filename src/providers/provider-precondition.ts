// 0343: who changes a provider says which version they saw, so that two operators do not overwrite each other.
import { Refusal } from '../core/refusal.ts'

const ETAG = /^(?:W\/)?"(\d{1,15})"$|^(\d{1,15})$/

export const STALE =
  'With 412, it was changed since that version. 409: it stands in switchyard.yaml, and is read-only here.'

/** Undefined where nobody said any. */
export function versionSeen(if_match: string | undefined, version: number | undefined): number | undefined {
  if (if_match === undefined) return version
  const [, quoted, bare] = ETAG.exec(if_match.trim()) ?? []
  const told = quoted ?? bare
  if (told === undefined) throw invalid(`'If-Match' must be a version, such as "3"`)
  if (version !== undefined && version !== Number(told)) throw invalid("'version' must be that of 'If-Match'")
  return Number(told)
}

/** For changes that build on what was there. */
export function versionNeeded(if_match: string | undefined, version: number | undefined): number {
  const seen = versionSeen(if_match, version)
  if (seen === undefined) throw invalid("'version' is required: the version that was read, here or as 'If-Match'")
  return seen
}

export const etagOf = (version: number) => `"${version}"`

export const isStale = (id: string, now: number) =>
  new Refusal('precondition_failed', `The provider '${id}' is at version ${now} by now. Read it again, then change it.`)

const invalid = (message: string) => new Refusal('invalid_request', `${message}.`)
