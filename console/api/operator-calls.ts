// /v2/operator as the pages of whoever runs the service use it (R79).
import type { Static } from 'typebox'
import type {
  CreatedProject,
  NewOperatorProject,
  OperatorCap,
  OperatorProject,
  ProjectShare,
} from '../../src/accounts/operator-project.ts'
import type { NewProjectQuotas, ProjectQuotas } from '../../src/limits/operator-quota.ts'
import type { ProjectUsage } from '../../src/usage/operator-usage.ts'
import { get, getText, post } from './api-client.ts'
import type { CsvTable } from './csv-calls.ts'
import { asked } from './usage-calls.ts'

export type { NewOperatorProject, NewProjectQuotas, OperatorProject, ProjectQuotas, ProjectUsage }

const PROJECTS = '/v2/operator/projects'
const USAGE = '/v2/operator/usage'

export const listProjects = async (signal?: AbortSignal) =>
  (await get<{ data: OperatorProject[] }>(PROJECTS, signal)).data
export const findProject = (id: string, signal?: AbortSignal) =>
  get<OperatorProject>(`${PROJECTS}/${encodeURIComponent(id)}`, signal)
export const createProject = (body: NewOperatorProject, idempotency_key: string) =>
  post<Static<typeof CreatedProject>>(PROJECTS, body, idempotency_key)

export const setOperatorCap = (id: string, body: Static<typeof OperatorCap>) =>
  post<OperatorProject>(`${PROJECTS}/${id}/cap`, body)
export const setShare = (id: string, body: Static<typeof ProjectShare>) =>
  post<OperatorProject>(`${PROJECTS}/${id}/share`, body)
export const suspendProject = (id: string) => post<OperatorProject>(`${PROJECTS}/${id}/suspend`)
export const resumeProject = (id: string) => post<OperatorProject>(`${PROJECTS}/${id}/resume`)

export const projectQuotas = (id: string, signal?: AbortSignal) =>
  get<ProjectQuotas>(`${PROJECTS}/${id}/quotas`, signal)
export const setProjectQuotas = (id: string, body: NewProjectQuotas) =>
  post<ProjectQuotas>(`${PROJECTS}/${id}/quotas`, body)

export interface UsageSince {
  from: string
  project_id?: string
  group_by?: string
}

export const usageByProject = async (query: UsageSince, signal?: AbortSignal) =>
  (await get<{ data: ProjectUsage[] }>(`${USAGE}?${asked({ ...query })}`, signal)).data
export const usageTable = async (query: UsageSince): Promise<CsvTable> => ({
  parts: [await getText(`${USAGE}?${asked({ ...query })}`, 'text/csv')],
  whole: true,
})
