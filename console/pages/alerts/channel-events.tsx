// Which events a channel is told of: all of them, or those that are ticked.
import type { EventType } from '../../../src/notifications/happening.ts'
import type { NewChannel } from '../../api/notification-calls.ts'
import { CheckField } from '../../parts/check-field.tsx'
import { SelectField } from '../../parts/select-field.tsx'

export type Told = Exclude<EventType, 'test'>

export const EVENT_WORDS: Readonly<Record<Told, string>> = {
  'budget.threshold': 'A spending limit comes near',
  'budget.refused': 'A spending limit refuses requests',
  'project.overage': 'The project spends beyond its cap',
  'spend.anomaly': 'Spending is unusual',
  'key.expiring': 'A key expires soon',
  'key.leaked': 'A key was found in public',
  'cluster.down': 'A cluster goes down',
  'cluster.up': 'A cluster is up again',
  'cluster.slow': 'A cluster is slow',
  'cluster.recovered': 'A cluster is no longer slow',
  'credential.refused': 'A provider refuses a credential',
  'provider.left_alone': 'A provider fails and gets no calls for a while',
  'provider.back': 'A provider gets calls again',
  'purge.finished': 'A purge ends',
  'replay.finished': 'A replay ends',
}

const NAMED_MAX = 3

/** `all events`, each in words, or where they are many how many. */
export function eventWords(events: readonly string[] | null): string {
  if (events === null) return 'all events'
  if (events.length > NAMED_MAX) return `${events.length} kinds of events`
  return events.map((type) => EVENT_WORDS[type as Told] ?? type).join(', ')
}

const WHICH = [
  { value: 'all', label: 'All events, also those to come' },
  { value: 'some', label: 'Only some' },
] as const

interface EventsFieldProps {
  /** Null: all. */
  events: NewChannel['events']
  onChange(events: NonNullable<NewChannel['events']> | null): void
}

export const EventsField = ({ events, onChange }: EventsFieldProps) => (
  <>
    <SelectField
      label="Tells of"
      value={events ? 'some' : 'all'}
      options={WHICH}
      onChange={(which) => onChange(which === 'all' ? null : ['budget.refused', 'key.leaked', 'cluster.down'])}
    />
    {events && (
      <fieldset className="stack">
        <legend className="visually-hidden">Events</legend>
        {(Object.keys(EVENT_WORDS) as Told[]).map((type) => (
          <CheckField
            key={type}
            checked={events.includes(type)}
            onChange={(checked) => onChange(checked ? [...events, type] : events.filter((one) => one !== type))}
          >
            {EVENT_WORDS[type]}
          </CheckField>
        ))}
      </fieldset>
    )}
  </>
)
