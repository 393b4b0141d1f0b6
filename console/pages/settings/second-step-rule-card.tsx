// Whether people who sign in with a password need a second step to see the project (0365).
import { type ProjectState, setSecondFactor } from '../../api/settings-calls.ts'
import { Card } from '../../parts/card.tsx'
import { CheckField } from '../../parts/check-field.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { useToast } from '../../parts/toasts.tsx'
import { useMay } from '../../state/session.tsx'
import { useSubmission } from '../../state/submission.ts'

interface Props {
  project: ProjectState
  onChanged(project: ProjectState): void
}

export function SecondStepRuleCard({ project, onChanged }: Props) {
  const may_manage = useMay('admin')
  const say = useToast()
  const sending = useSubmission(async (required: boolean) => {
    const changed = await setSecondFactor({ required })
    onChanged(changed)
    say(changed.second_factor_required ? 'A second step is required now.' : 'A second step is optional now.')
  })
  return (
    <Card title="Second step">
      {may_manage ? (
        <>
          <CheckField
            checked={project.second_factor_required}
            disabled={sending.busy}
            onChange={(required) => void sending.submit(required)}
          >
            Require a second step of everybody who signs in with a password: who has none is asked to set it up
          </CheckField>
          <FormError error={sending.error} fields={[]} />
        </>
      ) : (
        <p>{project.second_factor_required ? 'Required of everybody who signs in with a password.' : 'Optional.'}</p>
      )}
    </Card>
  )
}
