// How people come in here: by which identity providers, and whether anybody may sign up.
import { waysIn } from '../api/account-calls.ts'
import { useResource } from './resource.ts'

/** Undefined until it is known: pages show what every server has. */
export function useWaysIn() {
  const { state } = useResource(waysIn)
  return state.kind === 'ready' ? state.value : undefined
}
