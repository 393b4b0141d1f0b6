// One key: what it is and may do, what it spent and when, its family, and what can be done with it.
import { useCallback } from 'react'
import { type ApiKey, type Family, findFamily } from '../../api/key-calls.ts'
import { count, money } from '../../parts/amounts.ts'
import { Badge } from '../../parts/badge.tsx'
import { Card, Stat, Stats } from '../../parts/card.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { SubjectPage } from '../../parts/subject-page.tsx'
import { TimeAgo } from '../../parts/time-ago.tsx'
import { TimeUntil } from '../../parts/time-until.tsx'
import { useNow } from '../../state/browser-clock.ts'
import { Link } from '../../state/navigation.tsx'
import { useResource } from '../../state/resource.ts'
import { useMay } from '../../state/session.tsx'
import { KeyActions } from './key-actions.tsx'
import { KeyBudget } from './key-budget.tsx'
import { KeyChildren } from './key-children.tsx'
import { carvedOf, type KeyState, STATE_TONES, stateOf } from './key-family.ts'
import { KeyUsage } from './key-usage.tsx'
import { LABELS, LIMITS } from './limit-fields.tsx'
import { rateWords } from './model-rate-fields.tsx'

const POLL_MS = 10_000
const UP = { to: '/keys', label: 'Keys' }

export default function KeyPage({ id = '' }: { id?: string }) {
  const family = useResource(
    useCallback((signal) => findFamily(id, signal), [id]),
    { poll_ms: POLL_MS },
  )
  return (
    <SubjectPage title="Key" what="The key" up={UP} resource={family}>
      {(known, stale) => (
        <>
          <KeyHeader family={known} onChanged={family.reload} />
          {stale}
          <Facts family={known} />
          {known.children.length > 0 && <KeyChildren keys={known.children} />}
          <KeyUsage key_id={id} />
        </>
      )}
    </SubjectPage>
  )
}

function KeyHeader({ family, onChanged }: { family: Family; onChanged(): void }) {
  const { api_key, children } = family
  const now = useNow()
  const may_manage = useMay('admin')
  const state = stateOf(api_key, now)
  return (
    <PageHeader
      title={api_key.name}
      up={UP}
      lead={<Identity api_key={api_key} state={state} />}
      actions={
        may_manage &&
        state !== 'revoked' && (
          <KeyActions
            api_key={api_key}
            live_children={carvedOf(children, now).live_children}
            state={state}
            onChanged={onChanged}
          />
        )
      }
    />
  )
}

const Identity = ({ api_key, state }: { api_key: ApiKey; state: KeyState }) => (
  <span className="row">
    <Badge tone={STATE_TONES[state]}>{state}</Badge>
    <code>{api_key.masked}</code>
    <code className="muted">{api_key.id}</code>
    <CopyButton text={api_key.id} what="key id" look="quiet" />
  </span>
)

function Facts({ family: { api_key, parent, children, limits } }: { family: Family }) {
  const now = useNow()
  const { spent_micros, budget_micros } = api_key
  const carved = carvedOf(children, now)
  return (
    <Card title="Spending and terms">
      <KeyBudget {...api_key} {...carved} />
      <Stats>
        <Stat label="Left">
          {budget_micros === undefined
            ? 'no limit'
            : money(Math.max(0, budget_micros - spent_micros - carved.carved_micros))}
        </Stat>
        <Stat label="Scope">{api_key.scopes.join(', ')}</Stat>
        <Stat label="Last used">
          <TimeAgo at={api_key.last_used_at} />
        </Stat>
        <Stat label="Created">
          <TimeAgo at={api_key.created_at} />
        </Stat>
        <Terms api_key={api_key} parent={parent} />
        <Rates limits={limits} />
      </Stats>
    </Card>
  )
}

/** What the key is bound to. What it is not bound to takes no place. */
const Terms = ({ api_key, parent }: { api_key: ApiKey; parent: ApiKey | undefined }) => (
  <>
    {api_key.expires_at && (
      <Stat label="Expires">
        <TimeUntil at={api_key.expires_at} />
      </Stat>
    )}
    {api_key.previous_expires_at && (
      <Stat label="Old secret ends">
        <TimeUntil at={api_key.previous_expires_at} />
      </Stat>
    )}
    {parent && (
      <Stat label="Child of">
        <Link to={`/keys/${parent.id}`}>{parent.name}</Link>
      </Stat>
    )}
    {api_key.allowed_models && <Stat label="Allowed models">{api_key.allowed_models.join(', ')}</Stat>}
    {api_key.allowed_cidrs && <Stat label="Allowed networks">{api_key.allowed_cidrs.join(', ')}</Stat>}
    {api_key.allowed_clusters && <Stat label="Allowed clusters">{api_key.allowed_clusters.join(', ')}</Stat>}
    {api_key.clamp_output && <Stat label="Output beyond the budget">as much as the budget buys</Stat>}
  </>
)

/** Those that are the key's own. What every key has is under Settings. */
const Rates = ({ limits }: { limits: Family['limits'] }) => (
  <>
    {LIMITS.map(
      (name) =>
        limits[name] !== null && (
          <Stat key={name} label={LABELS[name]}>
            {count(limits[name])}
          </Stat>
        ),
    )}
    {limits.models?.map((rate) => (
      <Stat key={rate.model} label="In a minute" wide>
        {rateWords(rate)}
      </Stat>
    ))}
  </>
)
