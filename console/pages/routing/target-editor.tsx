// §9.4: where a release sends requests, as one edits it: a place, its model, and a weight that becomes a share.
import { useCallback, useId } from 'react'
import type { ApiError } from '../../api/api-client.ts'
import { clusterTelemetry } from '../../api/cluster-calls.ts'
import type { Destinations } from '../../api/routing-calls.ts'
import { Button } from '../../parts/button.tsx'
import { Field } from '../../parts/field.tsx'
import { wholePercent } from '../../parts/measures.ts'
import { type Option, SelectField } from '../../parts/select-field.tsx'
import { useResource } from '../../state/resource.ts'
import {
  fieldsAt,
  firstPlace,
  newTarget,
  type PlaceKind,
  TARGETS_MAX,
  type TargetDraft,
  usable,
} from './target-draft.ts'

interface TargetEditorProps {
  targets: readonly TargetDraft[]
  onChange(targets: readonly TargetDraft[]): void
  known: Destinations
  error: ApiError | undefined
}

export function TargetEditor({ targets, onChange, known, error }: TargetEditorProps) {
  const total = targets.reduce((sum, { weight }) => sum + (Number(weight) || 0), 0)
  return (
    <div className="stack">
      {targets.map((target, at) => (
        <TargetFields
          key={target.id}
          at={at}
          target={target}
          known={known}
          error={error}
          share={total > 0 ? (Number(target.weight) || 0) / total : 0}
          onChange={(changed) => onChange(targets.map((one) => (one.id === changed.id ? changed : one)))}
          onRemove={targets.length > 1 ? () => onChange(targets.filter(({ id }) => id !== target.id)) : undefined}
        />
      ))}
      <span>
        <Button disabled={targets.length >= TARGETS_MAX} onClick={() => onChange([...targets, newTarget(known)])}>
          Add target
        </Button>
      </span>
    </div>
  )
}

interface TargetFieldsProps {
  at: number
  target: TargetDraft
  known: Destinations
  error: ApiError | undefined
  share: number
  onChange(target: TargetDraft): void
  onRemove: (() => void) | undefined
}

const KINDS: readonly Option<PlaceKind>[] = [
  { value: 'provider', label: 'A provider' },
  { value: 'cluster', label: 'A cluster' },
  { value: 'credential', label: 'A credential' },
]

function TargetFields({ at, target, known, error, share, onChange, onRemove }: TargetFieldsProps) {
  const id = useId()
  const fields = fieldsAt(at, target.kind)
  return (
    <fieldset className="target-fields">
      <legend>
        Target {at + 1}{' '}
        <span className="target-gets">{share === 0 ? 'gets nothing' : `gets ${wholePercent(share)}`}</span>
      </legend>
      <div className="form-grid">
        <SelectField
          label="Goes to"
          value={target.kind}
          options={KINDS}
          onChange={(kind) => onChange({ ...target, kind, place: firstPlace(kind, known) })}
        />
        <Place target={target} known={known} error={error} name={fields.place} onChange={onChange} />
        <Field
          label="Model"
          name={fields.model}
          autoComplete="off"
          required
          list={`${id}-models`}
          value={target.model}
          onChange={(model) => onChange({ ...target, model })}
          error={error}
        />
        <datalist id={`${id}-models`}>
          {target.kind === 'cluster' ? (
            <ClusterModels id={target.place} />
          ) : (
            known.providers
              .find(({ id }) => id === target.place)
              ?.models.map(({ id }) => <option key={id} value={id} />)
          )}
        </datalist>
        <Field
          label="Weight"
          name={fields.weight}
          inputMode="numeric"
          autoComplete="off"
          required
          value={target.weight}
          onChange={(weight) => onChange({ ...target, weight })}
          error={error}
        />
      </div>
      {onRemove && (
        <Button look="quiet" onClick={onRemove} aria-label={`Remove target ${at + 1}`}>
          Remove
        </Button>
      )}
    </fieldset>
  )
}

/** What the cluster last told that it serves; only suggestions, so nothing is said where it cannot be had. */
function ClusterModels({ id }: { id: string }) {
  const { state } = useResource(useCallback((signal) => clusterTelemetry(id, signal), [id]))
  if (state.kind !== 'ready') return null
  return state.value.models?.map((model) => <option key={model.id} value={model.id} />)
}

interface PlaceProps {
  target: TargetDraft
  known: Destinations
  error: ApiError | undefined
  name: string
  onChange(target: TargetDraft): void
}

/** A list where there is one; a provider can also be typed, since an alias may be made before it is configured. */
function Place({ target, known, error, name, onChange }: PlaceProps) {
  const put = (place: string) => onChange({ ...target, place })
  if (target.kind === 'provider' && known.providers.length === 0)
    return <Field label="Provider" name={name} required value={target.place} onChange={put} error={error} />
  const options = placesOf(target.kind, known)
  if (options.length === 0) return <p className="muted align-end">There is none yet in this project.</p>
  const listed = options.some(({ value }) => value === target.place)
  const gone = { value: target.place, label: `${target.place} (gone)` }
  return (
    <SelectField
      label={target.kind === 'provider' ? 'Provider' : target.kind === 'cluster' ? 'Cluster' : 'Credential'}
      name={name}
      value={target.place}
      options={listed ? options : [gone, ...options]}
      onChange={put}
      error={error}
    />
  )
}

function placesOf(kind: PlaceKind, known: Destinations) {
  if (kind === 'provider') return known.providers.map(({ id }) => ({ value: id, label: id }))
  if (kind === 'cluster')
    return known.clusters.map(({ id, name, status }) => ({ value: id, label: `${name}, ${status}` }))
  return usable(known).map(({ id, name, provider }) => ({ value: id, label: `${name}, ${provider}` }))
}
