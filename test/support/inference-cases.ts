// The four forms in which a generation can be asked for, and what tests say about their answers.
import { eventsIn, type Heard } from './inference-client.ts'
import { nextLooks } from './next-look.ts'

/** The idempotency key of a case that has one. */
export const KEY = 'the-key'
/** What the upstream says where nobody tells it what to say. */
export const TEXT = 'Hello from the upstream.'

export interface Case {
  stream: boolean
  keyed: boolean
  /** For titles. */
  form: string
}

export const CASES: readonly Case[] = [
  { stream: false, keyed: false, form: 'plain, not keyed' },
  { stream: false, keyed: true, form: 'plain, keyed' },
  { stream: true, keyed: false, form: 'streamed, not keyed' },
  { stream: true, keyed: true, form: 'streamed, keyed' },
]
export const PLAIN = CASES.filter(({ stream }) => !stream)
export const STREAMED = CASES.filter(({ stream }) => stream)
export const KEYED = CASES.filter(({ keyed }) => keyed)
export const UNKEYED = CASES.filter(({ keyed }) => !keyed)

/** Every row in each of these forms. */
export const times = <Row extends object>(rows: readonly Row[], cases: readonly Case[]) =>
  rows.flatMap((row) => cases.map((one) => ({ ...one, ...row })))

/** What a stage is to ask for this case. */
export const asked = (
  { stream, keyed }: Pick<Case, 'stream' | 'keyed'>,
  more: object = {},
  headers: Record<string, string> = {},
) =>
  [
    { ...(stream && { stream }), ...more },
    { ...(keyed && { keyed: KEY }), headers },
  ] as const

export const envelope = ({ status, json }: Heard) => [status, json?.error?.type, json?.error?.code]

export const UPSTREAM_FAILED = [502, 'server_error', 'upstream_error']
export const LATE = [504, 'deadline_exceeded', 'deadline_exceeded']
export const QUOTA = [429, 'quota_exceeded', 'quota_exceeded']
export const AWAY = [503, 'server_error', 'unavailable']

export const lastEvent = (heard: Heard) => JSON.parse(eventsIn(heard).at(-1) ?? 'null')

/** As soon as this is true; whoever waits in vain fails by the test's own time limit. */
export async function comesTrue(holds: () => Promise<boolean>): Promise<void> {
  const nextLook = nextLooks()
  while (!(await holds())) await nextLook()
}
