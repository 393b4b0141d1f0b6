// Who is signed in here, for how long, and how to leave: this browser, or every one.

import { whoAmI } from '../../api/account-calls.ts'
import { Badge } from '../../parts/badge.tsx'
import { Button, LinkButton } from '../../parts/button.tsx'
import { Card, Stat, Stats } from '../../parts/card.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { LoadFailure } from '../../parts/load-failure.tsx'
import { moment } from '../../parts/times.ts'
import { useResource } from '../../state/resource.ts'
import { useSession } from '../../state/session.tsx'
import { useSubmission } from '../../state/submission.ts'
import { SecondFactorCard } from './second-factor-card.tsx'

export default function AccountSection() {
  const { state, reload } = useResource(whoAmI)
  const { leave } = useSession()
  const leaving = useSubmission((_: undefined) => leave())
  if (state.kind === 'failed') return <LoadFailure what="Your session" error={state.error} onRetry={reload} />
  if (state.kind === 'loading') return <div className="skeleton skeleton-chart" />
  const { person, expires_at, projects } = state.value
  return (
    <>
      <Card title="You">
        <Stats>
          <Stat label="E-mail address" wide>
            <span className="row">
              {person.email}
              <Badge tone={person.email_verified ? 'good' : 'warn'}>
                {person.email_verified ? 'confirmed' : 'not confirmed'}
              </Badge>
            </span>
          </Stat>
          <Stat label="Your id" wide>
            <code>{person.id}</code>
          </Stat>
          <Stat label="Projects">{projects.map(({ name, role }) => `${name} (${role})`).join(', ')}</Stat>
        </Stats>
      </Card>
      <SecondFactorCard />
      <Card title="Sessions">
        <div className="stack">
          <p>This browser stays signed in until {moment(expires_at)}, and longer whenever you use it.</p>
          <p className="muted">
            To sign out everywhere, choose a new password: every session ends with it, also those on machines that you
            no longer have.
          </p>
          <FormError error={leaving.error} fields={[]} />
          <span className="row">
            <Button busy={leaving.busy} onClick={() => void leaving.submit(undefined)}>
              Sign out here
            </Button>
            <LinkButton to="/forgot-password">Choose a new password</LinkButton>
          </span>
        </div>
      </Card>
    </>
  )
}
