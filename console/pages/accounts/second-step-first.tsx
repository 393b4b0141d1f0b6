// In the place of a project that asks for a second factor of somebody who has none: it is set up here, and then the
// page that was asked for is shown (0365).
import { type SignedIn, secondFactor } from '../../api/account-calls.ts'
import { Button } from '../../parts/button.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { ProjectLinks } from '../../parts/project-links.tsx'
import { useSession } from '../../state/session.tsx'
import { useSubmission } from '../../state/submission.ts'
import { SecondFactorCard } from '../settings/second-factor-card.tsx'

export default function SecondStepFirst({ me: { project, projects } }: { me: SignedIn }) {
  const { refresh, leave } = useSession()
  const going_on = useSubmission(async (_: undefined) => {
    if ((await secondFactor()).enabled) await refresh()
  })
  const leaving = useSubmission((_: undefined) => leave())
  return (
    <main className="alone">
      <div className="stack">
        <PageHeader
          title="A second step is required"
          lead={`${project?.name} is open to those alone who sign in with a second step. Set yours up to go on.`}
        />
        <SecondFactorCard onClosed={() => void going_on.submit(undefined)} />
        <FormError error={going_on.error ?? leaving.error} fields={[]} />
        <ProjectLinks projects={projects.filter(({ id }) => id !== project?.id)} />
        <span className="row">
          <Button busy={leaving.busy} onClick={() => void leaving.submit(undefined)}>
            Sign out
          </Button>
        </span>
      </div>
    </main>
  )
}
