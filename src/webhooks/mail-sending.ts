// One attempt at a delivery by mail: it is put into the outbox of mails, which sends it. What is put there twice, after
// a crash, has one Message-ID.
import type { Clock } from '../core/clock.ts'
import { spokenName } from '../core/spoken-name.ts'
import type { Letter } from '../mail/outbox-store.ts'
import type { Turn, Waiting } from '../notifications/queue-store.ts'
import type { Attempt, Sender } from './webhook-sending.ts'

interface Posting {
  project_id: string
  letter: Letter
  /** Names it among the mails. */
  id: string
}

export type Mailing = (posting: Posting, now: number) => Promise<'posted' | 'too_many' | 'no_member'>

interface Needs {
  clock: Clock
  post: Mailing
}

const UNPOSTED = {
  too_many: 'The project has sent as many mails as it may in a day.',
  no_member: 'This is no longer the confirmed address of a member.',
}

export const mailSender =
  ({ clock, post }: Needs) =>
  ({ id: channel_id, project_id, target }: Turn): Sender => ({
    async attempt(waiting): Promise<Attempt> {
      const id = `${waiting.event_id.slice(4)}.${channel_id.slice(4, 12)}`
      const posted = await post({ project_id, letter: letterOf(target, waiting), id }, clock.now())
      if (posted === 'posted') return { outcome: 'taken', answer_status: null, answer: null, error: null }
      return { outcome: 'failed', answer_status: null, answer: null, error: UNPOSTED[posted] }
    },
    close: async () => {},
  })

function letterOf(to: string, { type, payload, event_id, expires_at }: Waiting): Letter {
  const { sentence, timestamp, data } = spoken(JSON.parse(payload))
  const facts = Object.entries(data).map(
    ([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  return {
    to,
    subject: `Switchyard: ${type}`,
    text: `${oneLine(sentence)}\n\n${facts.map(oneLine).join('\n')}\n\n${timestamp}, event ${event_id}.\n`,
    good_until_ms: expires_at,
  }
}

interface Told {
  sentence: string
  timestamp: string
  data: Readonly<Record<string, unknown>>
}

/**
 * R78: whoever names a key, or anything else, does not write to people by it, nor who says `where` one was found, which
 * the event has in full. A sentence has a name once.
 */
function spoken({ sentence, timestamp, data }: Told): Told {
  const said = { ...data, ...spokenIn(data, 'name'), ...spokenIn(data, 'where') }
  const { name } = data
  if (typeof name !== 'string' || name === '') return { sentence, timestamp, data: said }
  return { sentence: sentence.replace(name, () => spokenName(name)), timestamp, data: said }
}

const spokenIn = (data: Told['data'], field: string) =>
  typeof data[field] === 'string' ? { [field]: spokenName(data[field]) } : {}

const oneLine = (text: string) => text.replace(/[\r\n]+/g, ' ')
