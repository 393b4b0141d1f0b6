// Which requests somebody looked at last, so that the way up from one of them leads back to the same list.
// It is of one project: filters name its keys.
import { projectInAddress } from './navigation.tsx'

let last: { project_id: string | undefined; query: string } | undefined

export function rememberList(params: URLSearchParams): void {
  last = { project_id: projectInAddress(), query: params.toString() }
}

export function lastList(): string {
  const query = last?.project_id === projectInAddress() ? last?.query : ''
  return query ? `/requests?${query}` : '/requests'
}
