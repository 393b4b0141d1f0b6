// The receipt of a purge job: what was erased, when, and what that does not cover, signed with the server's secret.
import { hash, timingSafeEqual } from 'node:crypto'
import { type Static, Type } from 'typebox'
import { time } from '../core/shapes.ts'
import { PurgeFilter } from './purge-job.ts'

/** Where the erased bytes may still be, within the store itself. */
export const STORAGE = {
  rewritten: 'The file of the store was written anew and its log emptied: neither has any of the erased bytes.',
  overwritten:
    'The erased bytes were overwritten where they lay and the log emptied. Earlier copies may be left in unused ' +
    'space of the file until it is written anew (a backup that is restored).',
  untouched: 'Nothing that lies in the store was found, so its files were left as they are.',
  after_vacuum: 'The erased rows are dead. Their bytes are in the files of PostgreSQL until it has vacuumed them.',
} as const
export type Storage = keyof typeof STORAGE

/** What no job can reach. */
export const NOT_COVERED = [
  'Backups, replicas of the database and its archived logs.',
  'Providers and clusters that were sent the prompts, and their caches.',
  'Calls that were under way when the job was made, and what was made since.',
  'Logs of the server and of whatever stands before it.',
  'Earlier versions of objects in object storage that keeps versions, and blocks of deleted files on a disk.',
  'Copies in the memory of running servers, which nothing leads to any more and which end with the process.',
  'What keeps the books: usage without words, charges, keys, names, settings, the audit log.',
] as const

export const PurgeReceipt = Type.Object(
  {
    object: Type.Literal('purge_receipt'),
    purge_job_id: Type.String(),
    project_id: Type.String(),
    filter: PurgeFilter,
    as_of: time(),
    issued_at: time(),
    erased: Type.Array(Type.Object({ kind: Type.String(), count: Type.Integer() })),
    digest: Type.String({
      description:
        'SHA-256, in hexadecimal, of a line `kind id` for each thing erased, sorted by bytes, each with \\n.',
    }),
    storage: Type.Object({
      engine: Type.Enum(['sqlite', 'postgres']),
      state: Type.Enum(Object.keys(STORAGE)),
      meaning: Type.String(),
    }),
    not_covered: Type.Array(Type.String()),
    signature: Type.String({ description: 'HMAC-SHA256 with a key of the server, in base64url.' }),
  },
  { title: 'PurgeReceipt' },
)
export type PurgeReceipt = Static<typeof PurgeReceipt>

export const ReceiptVerdict = Type.Object(
  {
    object: Type.Literal('purge_receipt.verdict'),
    valid: Type.Boolean({ description: 'This server signed exactly this.' }),
  },
  { title: 'PurgeReceiptVerdict' },
)

/** What the server's key for them is derived by. */
export const RECEIPT_PURPOSE = 'purge receipt'

/** Signs texts for one purpose. */
export type Sign = (text: string) => string

export const signed = (receipt: Omit<PurgeReceipt, 'signature'>, sign: Sign): PurgeReceipt => ({
  signature: sign(canonical(receipt)),
  ...receipt,
})

export function isSigned(receipt: unknown, sign: Sign): boolean {
  if (typeof receipt !== 'object' || receipt === null || Array.isArray(receipt)) return false
  const { signature, ...rest } = receipt as Record<string, unknown>
  if (typeof signature !== 'string' || rest.object !== 'purge_receipt') return false
  return timingSafeEqual(digested(signature), digested(sign(canonical(rest))))
}

/** Of one length, whatever was sent. */
const digested = (text: string) => hash('sha256', text, 'buffer')

/** JSON with its fields in order, so that whoever formats a receipt anew does not break it. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
  fields.sort(([one], [other]) => (one < other ? -1 : 1))
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join(',')}}`
}
